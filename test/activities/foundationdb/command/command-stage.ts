// Runs commands of the wing against an API server in memory, with an executable in the place of fdbcli.

import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, onTestFinished, vi } from 'vitest'

import type { CommandDone, CommandStart } from '../../../../activities/command.ts'
import type { KubeClient, KubeObject } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/kube-error.ts'
import type { ClusterSpec, ClusterStatus } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { CLUSTER_LABEL, PROCESS_GROUP_LABEL } from '../../../../workflows/foundationdb/contract.ts'

const CLUSTERS = '/apis/apps.foundationdb.org/v1beta2/namespaces/shop/foundationdbclusters'
const PODS = '/api/v1/namespaces/shop/pods'

type Json = Record<string, unknown>

/** Objects by path. Writes are recorded. */
export class MemoryApi {
  readonly writes: string[] = []
  /** Called before each write; another client's change in a test. */
  beforeWrite: () => void = () => {}
  private readonly objects = new Map<string, KubeObject>()
  private version = 0

  put(list: string, object: KubeObject): void {
    const resourceVersion = String(++this.version)
    const metadata = { uid: object.metadata.name, namespace: 'shop', ...object.metadata, resourceVersion }
    this.objects.set(`${list}/${object.metadata.name}`, { ...object, metadata })
  }

  get(path: string): KubeObject | undefined {
    return this.objects.get(path)
  }

  readonly client = {
    request: (method: string, path: string, { body, query = {} }: { body?: unknown; query?: Json } = {}) => {
      if (method !== 'GET') this.beforeWrite()
      const answer = this.answer(method, path, body as Json, query)
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
  } as unknown as KubeClient

  private answer(method: string, path: string, body: Json, { labelSelector }: Json): unknown {
    const target = path.replace(/\/status$/, '')
    const found = this.objects.get(target)
    if (found === undefined) {
      if (method === 'GET' && !this.isName(path)) return this.list(path, labelSelector as string | undefined)
      const name = path.split('/').at(-1) ?? ''
      return new KubeError('not found', { status: 404, reason: 'NotFound', missing: { kind: 'x', name } })
    }
    if (method === 'GET') return found
    if (method === 'DELETE') {
      this.writes.push(`delete ${found.metadata.name} ${JSON.stringify(body)}`)
      this.objects.delete(target)
      return {}
    }
    const { metadata, ...fields } = body
    if ((metadata as Json)['resourceVersion'] !== found.metadata.resourceVersion)
      return new KubeError('conflict', { status: 409, reason: 'Conflict' })
    const [field = '', changed] = Object.entries(fields)[0] ?? []
    this.put(target.replace(/\/[^/]+$/, ''), { ...found, [field]: { ...(found[field] as Json), ...(changed as Json) } })
    this.writes.push(`patch ${path.slice(target.length - found.metadata.name.length)} ${JSON.stringify(fields)}`)
    return {}
  }

  private isName(path: string): boolean {
    return [CLUSTERS, PODS].some((list) => path.startsWith(`${list}/`))
  }

  private list(path: string, labelSelector: string | undefined): { items: readonly KubeObject[] } {
    const wanted = labelSelector?.split(',') ?? []
    const items = [...this.objects].filter(([name]) => name.startsWith(`${path}/`)).map(([, object]) => object)
    const hasLabels = ({ metadata: { labels = {} } }: KubeObject) =>
      wanted.every((pair) => labels[pair.split('=')[0] ?? ''] === pair.split('=')[1])
    return { items: items.filter(hasLabels) }
  }
}

/** The clock does not advance during a test. */
export function stopClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

export function secondsAgo(seconds: number): number {
  return Math.floor(Date.now() / 1000) - seconds
}

export const CONNECTION = 'sample:abc@10.1.0.1:4501,10.1.0.2:4501,10.1.0.3:4501'

/** A healthy cluster of two storage processes and a log in three zones, with their Pods. */
export function putCluster(api: MemoryApi, spec: Partial<ClusterSpec> = {}, status: Partial<ClusterStatus> = {}): void {
  const processGroups = ['storage-1', 'storage-2', 'log-1'].map((processGroupID, index) => ({
    processGroupID,
    processClass: processGroupID.replace(/-\d+$/, ''),
    faultDomain: `node-${index}`,
  }))
  api.put(CLUSTERS, {
    metadata: { name: 'sample', generation: 2 },
    spec: {
      version: '7.1.67',
      databaseConfiguration: { redundancy_mode: 'single' },
      processCounts: { storage: 2, log: 1, stateless: -1 },
      unknownField: 'kept',
      ...spec,
    },
    status: {
      generations: { reconciled: 2 },
      health: { available: true, healthy: true, fullReplication: true },
      connectionString: CONNECTION,
      runningVersion: '7.1.67',
      processGroups,
      ...status,
    },
  })
  for (const { processGroupID, faultDomain } of processGroups)
    putPod(api, processGroupID, { spec: { nodeName: faultDomain } })
}

export function putPod(api: MemoryApi, processGroupID: string, fields: Json = {}, metadata: Json = {}): void {
  api.put(PODS, {
    spec: {},
    status: { phase: 'Running', containerStatuses: [{ name: 'foundationdb', ready: true }] },
    ...fields,
    metadata: {
      name: `sample-${processGroupID}`,
      labels: { [CLUSTER_LABEL]: 'sample', [PROCESS_GROUP_LABEL]: processGroupID },
      ...metadata,
    },
  })
}

export interface CommandSetting {
  readonly words?: readonly string[]
  readonly given?: CommandStart['given']
  readonly env?: CommandStart['env']
  /** The answer to questions. Default: yes. */
  readonly agrees?: boolean
}

export interface CommandRun extends CommandDone {
  readonly questions: readonly string[]
  readonly progress: readonly string[]
}

export async function runFdb(
  api: MemoryApi,
  load: () => Promise<{ readonly run: (start: CommandStart) => Promise<CommandDone> }>,
  { words = [], given = {}, env = {}, agrees = true }: CommandSetting = {},
): Promise<CommandRun> {
  const questions: string[] = []
  const progress: string[] = []
  const { run } = await load()
  const done = await run({
    kube: api.client,
    namespace: 'shop',
    who: 'jane',
    why: undefined,
    words,
    given,
    env,
    end: new AbortController().signal,
    confirm: (question) => {
      questions.push(question)
      return Promise.resolve(agrees)
    },
    progress: (line) => void progress.push(line),
  })
  return { ...done, questions, progress }
}

/**
 * An fdbcli that answers each `status json` with the next document, or the last one, and reports success of `kill`.
 *
 * @returns the environment of the command, and the commands that fdbcli got.
 */
export async function installFdbcli(...documents: readonly object[]) {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-fdb-command-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, '7.1'))
  const program = join(folder, '7.1', 'fdbcli')
  const log = join(folder, 'log')
  await writeFile(log, '')
  await writeFile(
    program,
    `#!${process.execPath}
const { appendFileSync, readFileSync } = require('fs')
const command = process.argv[3]
const before = readFileSync(${JSON.stringify(log)}, 'utf8').split('\\n').filter((line) => line === 'status json').length
appendFileSync(${JSON.stringify(log)}, command + '\\n')
const documents = ${JSON.stringify(documents)}
const kill = /; kill (.*?);/.exec(command)
if (kill !== null) console.log('Attempted to kill ' + kill[1].split(' ').length + ' processes')
else console.log(JSON.stringify(documents[Math.min(before, documents.length - 1)]))
`,
  )
  await chmod(program, 0o755)
  return {
    env: { PAWL_FDB_BIN: folder },
    commands: async () => (await readFile(log, 'utf8')).trim().split('\n'),
  }
}

export interface ReportedProcess {
  readonly excluded?: boolean
  readonly bytes?: number
  readonly roles?: readonly string[]
}

/** A status document of an available database with these processes by process group. */
export function statusDocument(processes: Readonly<Record<string, ReportedProcess>>): object {
  const entries = Object.entries(processes).map(([id, { excluded = false, bytes, roles = ['storage'] }], index) => [
    id,
    {
      address: `10.1.0.${index + 1}:4501:tls`,
      class_type: 'storage',
      command_line: '',
      version: '7.1.67',
      excluded,
      locality: { instance_id: id },
      roles: roles.map((role) => ({ role, ...(bytes !== undefined && { stored_bytes: bytes }) })),
    },
  ])
  return {
    client: {
      database_status: { available: true, healthy: true },
      coordinators: { quorum_reachable: true, coordinators: [{ address: '10.1.0.1:4501', reachable: true }] },
    },
    cluster: { processes: Object.fromEntries(entries) as object, configuration: { excluded_servers: [] } },
  }
}
