// Records the histories that replay.test.ts replays, on servers that it starts for the purpose:
//
//   node test/replay/record.ts [outcome ...]
//
// When to record which histories: README.md in this folder.

import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, WorkflowFailedError } from '@temporalio/client'
import proto from '@temporalio/proto'

import { choosePorts } from '../../worker/dev/ports.ts'
import { startTemporal } from '../../worker/dev/temporal.ts'
import { Cluster, type LsObject } from '../support/cluster/cluster.ts'
import { createTarget } from '../support/landscaper/manifests.ts'
import { Pawl, type PawlOptions } from '../support/pawl/pawl.ts'
import { openServers, type TestServers } from '../support/servers/servers.ts'
import { beaconKind } from './level/beacon.ts'
import { LEVELS, ORDINARY, SCENARIOS, SHORT_HISTORIES, SHORT_LEVELS } from './scenarios/index.ts'
import { installKind, LEVEL_CONTROLLERS } from './scenarios/levels.ts'
import type { RunKind, Scenario } from './scenarios/scenario.ts'

const { History } = proto.temporal.api.history.v1
const DIR = join(import.meta.dirname, 'histories')

// Long timeouts, so that a slow machine causes no timeouts in a history. Foreign deployers pick up items within a
// fraction of the pickup timeout.
const FLAGS = ['--workflow-task-timeout-ms', '10000', '--sticky-timeout-ms', '4000', '--wake-lease-ms', '10000']
const PICKUP = ['--pickup-timeout', '8s']
// Temporal suggests continue-as-new after 30 events, which a run reaches after a few passes.
const SHORT = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=30']

type Named = readonly (readonly [outcome: string, scenario: Scenario])[]

async function main(outcomes: readonly string[]): Promise<void> {
  const unknown = outcomes.filter((outcome) => !(outcome in SCENARIOS))
  if (unknown.length > 0) throw new Error(`no scenario is called ${unknown.join(', ')}`)
  if (outcomes.length === 0) await rm(DIR, { recursive: true, force: true })
  await mkdir(DIR, { recursive: true })
  const chosen = (from: typeof SCENARIOS) =>
    Object.entries(from).filter(([outcome]) => outcomes.length === 0 || outcomes.includes(outcome))
  const { servers, close } = await openServers()
  try {
    await recordAll('replay', chosen(ORDINARY), servers)
    await recordLevels('replay-level', chosen(LEVELS), servers)
    const [short, shortLevels] = [chosen(SHORT_HISTORIES), chosen(SHORT_LEVELS)]
    if (short.length + shortLevels.length > 0)
      await onShortTemporal(servers, async (servers) => {
        await recordAll('replay-short', short, servers)
        await recordLevels('replay-level-short', shortLevels, servers)
      })
  } finally {
    await close()
  }
}

async function onShortTemporal(servers: TestServers, use: (servers: TestServers) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'pawl-short-'))
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  const own = { binary: servers.temporalBinary, dir, logDir: dir, ports, ephemeral: true, flags: SHORT }
  const temporal = await startTemporal(own)
  try {
    await use({ ...servers, temporalAddress: temporal.spec.address ?? '' })
  } finally {
    await temporal.stop()
    await rm(dir, { recursive: true })
  }
}

/** Records scenarios of Pawl's own controllers, which need only the Target of the scenarios. */
async function recordAll(namespace: string, scenarios: Named, servers: TestServers): Promise<void> {
  if (scenarios.length === 0) return
  const prepare = async (cluster: Cluster) => {
    await createTarget(cluster)
  }
  await recordIn(namespace, scenarios, { servers, prepare, pawl: { workerFlags: [...FLAGS, ...PICKUP] } })
}

async function recordLevels(namespace: string, scenarios: Named, servers: TestServers): Promise<void> {
  if (scenarios.length === 0) return
  const pawl = { controllers: LEVEL_CONTROLLERS, workerFlags: FLAGS }
  await recordIn(namespace, scenarios, { servers, prepare: (cluster) => installKind(cluster, beaconKind), pawl })
}

interface Surroundings {
  readonly servers: TestServers
  /** Creates the objects that the scenarios need; called after the namespace exists. */
  readonly prepare: (cluster: Cluster) => Promise<void>
  readonly pawl: Pick<PawlOptions, 'controllers' | 'workerFlags'>
}

async function recordIn(namespace: string, scenarios: Named, { servers, prepare, pawl: own }: Surroundings) {
  const cluster = new Cluster(servers.kubeconfigPath, namespace)
  await cluster.createNamespace()
  await prepare(cluster)
  const pawl = await Pawl.start({ name: namespace, servers, namespace, ...own })
  try {
    const ends = await Promise.allSettled(scenarios.map(([outcome, one]) => record(cluster, pawl.client, outcome, one)))
    const failed = ends.flatMap((end, index) =>
      end.status === 'rejected' ? [`${scenarios[index]?.[0] ?? ''}: ${String(end.reason)}`] : [],
    )
    if (failed.length > 0) throw new Error(failed.join('\n'))
  } finally {
    await pawl.stop()
    await cluster.kube.close()
  }
}

async function record(cluster: Cluster, client: Client, outcome: string, scenario: Scenario): Promise<void> {
  const job = await scenario.play({ cluster, client }, outcome)
  for (const [kind, { workflowId, runId }] of await runsOf(client, job, scenario)) {
    const handle = client.workflow.getHandle(workflowId)
    // result() fails if the job failed, or if the run was terminated after its work was done and has no successor.
    await handle.result().catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error
    })
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory()
    const { events = [] } = History.toObject(History.fromObject(history), {
      longs: String,
      enums: String,
      bytes: String,
    }) as { events?: unknown[] }
    // One event per line, so that diffs are readable.
    const lines = events.map((event) => JSON.stringify(scrubbed(event))).join(',\n')
    const file = `${kind}-${outcome}.json`
    await writeFile(join(DIR, file), `{"workflowId":"${workflowId}","history":{"events":[\n${lines}\n]}}\n`)
    process.stdout.write(`${file}: ${events.length} events\n`)
  }
}

interface Run {
  readonly workflowId: string
  /** Undefined: the most recent run of the workflow ID. */
  readonly runId: string | undefined
}

/** Waits for the runs to record of a job, or of an object in level mode, because Temporal's visibility lags behind. */
async function runsOf(client: Client, job: LsObject, { kinds, run }: Scenario): Promise<ReadonlyMap<RunKind, Run>> {
  for (let look = 1; look <= 100; look++) {
    const found = await listed(client, job, run)
    if (kinds.every((kind) => found.has(kind))) return new Map([...found].filter(([kind]) => kinds.includes(kind)))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${job.metadata.name} has not a run of each of ${kinds.join(', ')}`)
}

async function listed(
  client: Client,
  { metadata, status }: LsObject,
  run: Scenario['run'],
): Promise<Map<RunKind, Run>> {
  const found = new Map<RunKind, Run & { readonly at: number }>()
  const jobID = status?.jobID
  // The job of a tree has one run per Installation, so the query selects the uid too. In level mode no jobs exist.
  const ofJob = jobID === undefined ? '' : ` and PawlJobId = '${jobID}'`
  const query = `PawlUid = '${metadata.uid ?? ''}'${ofJob}`
  for await (const { type, workflowId, runId, startTime } of client.workflow.list({ query })) {
    const kind = type as RunKind
    const at = startTime.getTime()
    const before = found.get(kind)
    if (before !== undefined && at > before.at) continue
    found.set(kind, { workflowId, at, runId: run === 'first' ? runId : undefined })
  }
  return found
}

/** Removes the names of the machine and of its files. */
function scrubbed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(scrubbed)
  if (typeof value !== 'object' || value === null) return value
  const hidden: Readonly<Record<string, string>> = {
    identity: 'worker',
    stackTrace: '',
    binaryChecksum: '',
    buildId: '',
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, typeof one === 'string' ? (hidden[key] ?? one) : scrubbed(one)]),
  )
}

await main(process.argv.slice(2))
