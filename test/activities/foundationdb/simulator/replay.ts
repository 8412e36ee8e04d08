// Replays a folder of recordings in the simulator and compares each command.

import { factsOf, type RecordedCommand, recordedCommands, recordedShapes, shapeOf } from './recordings.ts'
import { InProcessCluster, type ToolResult } from './in-process-cluster.ts'
import { CONFIGURATION_FILES, type RecordedCluster } from './recorded-clusters.ts'

const CONNECTION_ID = 'test:abcdefghijklmnopqrstuvwxyz012345'
const shapes = recordedShapes()

/** Between commands of a folder that has no times. */
const PAUSE_SECONDS = 40

/** A difference: `COMMAND: FIELD: ...`. */
export type Difference = { readonly command: string; readonly field: string; readonly text: string }

export interface Replayed {
  readonly commands: number
  readonly differences: readonly Difference[]
}

export async function replay(plan: RecordedCluster): Promise<Replayed> {
  const commands = recordedCommands(plan.folder).filter(({ tool }) => tool === 'fdbcli')
  const cluster = prepare(plan, commands)
  for (const command of plan.before ?? []) {
    await cluster.fdbcli(['--exec', command, '-C', '$BEFORE'])
    await cluster.advance(60)
  }
  const origin = cluster.clock.now()
  const events = [...(plan.events ?? [])]
  const differences: Difference[] = []
  for (const command of commands) {
    if (command.at === undefined) await cluster.advance(PAUSE_SECONDS)
    await reach(cluster, origin, command.at ?? 0, events)
    const configuration = CONFIGURATION_FILES[command.name]
    if (configuration !== undefined) cluster.files.set('$DIR/c10/conf.json', configuration)
    const result = await cluster.fdbcli(command.argv, {
      ...(command.stdin !== undefined && { stdin: command.stdin }),
      ...(command.env !== undefined && { environment: command.env }),
      ...(command.killedAfter !== undefined && { limit: command.killedAfter }),
    })
    differences.push(...compare(command, result))
  }
  return { commands: commands.length, differences }
}

function prepare(plan: RecordedCluster, commands: readonly RecordedCommand[]): InProcessCluster {
  const { coordinators = 1, processes } = plan
  const chosen =
    typeof coordinators === 'number'
      ? processes.slice(0, coordinators)
      : coordinators.flatMap((n) => processes[n - 1] ?? [])
  const addresses = chosen.map(({ address }) => address)
  const connection = `${CONNECTION_ID}@${addresses.length > 0 ? addresses.join(',') : '127.0.0.1:4501'}`
  const cluster = new InProcessCluster(connection)
  if (plan.watched === true) cluster.restartAfter = 0.3
  const paths = commands.flatMap(({ argv, env }) => [argv[argv.indexOf('-C') + 1] ?? '', ...Object.values(env ?? {})])
  for (const path of ['$BEFORE', ...paths.filter((each) => each.endsWith('.cluster'))])
    cluster.files.set(path, connection)
  for (const [path, text] of Object.entries(plan.files ?? {})) cluster.files.set(path, text)
  for (const path of ['$DIR/c05/logs', '$DIR/c05/logs2']) cluster.files.set(path, 'DIRECTORY')
  cluster.readOnly.add('$DIR/c25/ro.cluster')
  for (const process of plan.processes) cluster.start(process)
  return cluster
}

/** Lets time pass until the command starts, with the events in between. */
async function reach(
  cluster: InProcessCluster,
  origin: number,
  at: number,
  events: [...NonNullable<RecordedCluster['events']>] | (readonly [number, (cluster: InProcessCluster) => unknown])[],
): Promise<void> {
  while (events[0] !== undefined && events[0][0] <= at) {
    const [time, event] = events[0]
    await cluster.advance(Math.max(0, origin + time - cluster.clock.now()))
    await event(cluster)
    events.shift()
  }
  await cluster.advance(Math.max(0, origin + at - cluster.clock.now()))
}

function compare(command: RecordedCommand, result: ToolResult): Difference[] {
  const documents = documentsOf(command, result)
  const differs = (field: string, recorded: string, simulated: string): Difference[] =>
    recorded === simulated
      ? []
      : [{ command: command.name, field, text: `recorded ${recorded}\nsimulated ${simulated}` }]
  return [
    ...differs('exit', String(command.exit), String(result.exit)),
    ...differs('stdout', normalize(command.stdout), normalize(documents.stdout)),
    ...differs('stderr', normalize(command.stderr), normalize(result.stderr)),
    ...compareTimes(command, result),
    ...(command.document === undefined || documents.document === undefined
      ? []
      : compareDocuments(command, command.document, documents.document)),
  ]
}

/** Slow machines made some recordings take longer, so only differences that a user would see count. */
function compareTimes({ name, wall }: RecordedCommand, { seconds }: ToolResult): Difference[] {
  if (Math.abs(wall - seconds) <= 1.05) return []
  return [{ command: name, field: 'seconds', text: `recorded ${wall.toFixed(2)}\nsimulated ${seconds.toFixed(2)}` }]
}

type Document = Parameters<typeof factsOf>[0]

function documentsOf(
  { stdout: recorded }: RecordedCommand,
  { stdout }: ToolResult,
): { stdout: string; document?: Document } {
  if (recorded === '<help>') return { stdout: stdout.length > 0 ? '<help>' : '' }
  const begin = stdout.indexOf('{\n')
  const end = stdout.lastIndexOf('}')
  if (!recorded.includes('<document>') || begin < 0) return { stdout }
  return {
    stdout: `${stdout.slice(0, begin)}<document>${stdout.slice(end + 1)}`,
    document: JSON.parse(stdout.slice(begin, end + 1)) as Document,
  }
}

function compareDocuments(
  { name }: RecordedCommand,
  recorded: NonNullable<RecordedCommand['document']>,
  document: Document,
): Difference[] {
  const wanted = shapeWithoutSamples(shapes[recorded.shape] ?? new Set())
  const found = shapeWithoutSamples(shapeOf(document))
  const missing = [...wanted].filter((path) => !found.has(path)).map((path) => `- ${path}`)
  const extra = [...found].filter((path) => !wanted.has(path)).map((path) => `+ ${path}`)
  const facts = factsOf(document)
  const keys = [...new Set([...Object.keys(facts), ...Object.keys(recorded.facts)])]
  return [
    ...(missing.length + extra.length > 0
      ? [{ command: name, field: 'shape', text: [...missing, ...extra].join('\n') }]
      : []),
    ...keys
      .filter((key) => stable(facts[key]) !== stable(recorded.facts[key]))
      .map((key) => ({
        command: name,
        field: key,
        text: `recorded ${stable(recorded.facts[key])}\nsimulated ${stable(facts[key])}`,
      })),
  ]
}

/** Statistics are there only after some traffic, and clients only some seconds after a new cluster controller began. */
function shapeWithoutSamples(paths: ReadonlySet<string>): Set<string> {
  return new Set([...paths].filter((path) => !/_statistics|_window_size|clients\.supported_versions/.test(path)))
}

/** JSON with sorted keys. */
function stable(value: unknown): string {
  if (value === undefined) return 'nothing'
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}

/** Replaces numbers, times, IDs and random words that differ from run to run. */
function normalize(text: string): string {
  return text
    .replace(/\nThe database is [^\n]*\n\n$/, '')
    .replaceAll(/Committed \(\d+\)/g, 'Committed (VERSION)')
    .replaceAll(/^\d{5,}$/gm, 'VERSION')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'UID')
    .replaceAll(/(dangerous operation\.\n)\w{10}\n/g, '$1PASSPHRASE\n')
    .replaceAll(/:[A-Za-z0-9]{32}@/g, ':ID@')
    .replaceAll(/\d\d\/\d\d\/\d\d \d\d:\d\d:\d\d/g, 'TIME')
    .replaceAll(/ {2}Retransmissions rate .*\n/g, '')
    .replaceAll(/\d+(\.\d+)? (Hz|MB|GB)/g, 'N $2')
    .replaceAll(/trace\.[\w.]+\.xml/g, 'TRACE')
    .replaceAll(/\(\s*\d+% cpu;.*\)/g, '(LOAD)')
}
