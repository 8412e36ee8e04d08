// The speed of the machine, measured by work that never changes, before and after a scenario. It makes a disturbed machine visible, and figures of different
// days comparable.

import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

import type { KubeClient } from '../../activities/kube/client.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { configMap } from '../support/landscaper/manifests.ts'
import { ProcessMeter, type ProcessTree } from './processes.ts'
import { figure, markdownTable } from './report.ts'
import type { Stage } from './servers.ts'
import { sum } from './statistics.ts'

/** Operations per second, and the CPU of the servers for each. */
interface Speed {
  readonly perSecond: number
  readonly cpuMs: number
}

export interface Yardsticks {
  readonly writes: Speed
  /** Workflows with nothing in them. */
  readonly noOp: Speed
  readonly oneLocalActivity: Speed
  /** Cores that the set uses without work. */
  readonly idleCores: number
}

const IDLE_MS = 5000
/** After work, and after a start. */
const QUIET_MS = 3000

export async function measureYardsticks({ set, kube, log }: Stage): Promise<Yardsticks> {
  const writes = await measureWrites(kube, set.processes)
  const temporal = set.processes.filter(({ name }) => name === 'temporal')
  const { noOp, oneLocalActivity } = await measureWorkflows(set.temporalAddress, temporal)
  log(`yardsticks: ${figure(writes.perSecond)} API writes/s, ${figure(noOp.perSecond)} no-op workflows/s`)
  return { writes, noOp, oneLocalActivity, idleCores: await measureIdle(set.processes) }
}

export function yardstickSection(before: Yardsticks, after: Yardsticks): string {
  const row = (title: string, of: (one: Yardsticks) => number) => [title, figure(of(before)), figure(of(after))]
  const rows = [
    row('API writes per second (16 in parallel)', ({ writes }) => writes.perSecond),
    row('... CPU of API server, etcd and client per write, ms', ({ writes }) => writes.cpuMs),
    row('no-op workflows per second (50 in parallel, eager)', ({ noOp }) => noOp.perSecond),
    row('... CPU of Temporal per workflow, ms', ({ noOp }) => noOp.cpuMs),
    row('workflows of one local activity per second', ({ oneLocalActivity }) => oneLocalActivity.perSecond),
    row('... CPU of Temporal per workflow, ms', ({ oneLocalActivity }) => oneLocalActivity.cpuMs),
    row('cores that the idle set uses', ({ idleCores }) => idleCores),
  ]
  return `## Yardsticks\n\n${markdownTable(['', 'before', 'after'], rows)}`
}

async function measureIdle(processes: readonly ProcessTree[]): Promise<number> {
  await sleep(QUIET_MS)
  const meter = new ProcessMeter(processes)
  await sleep(IDLE_MS)
  return (cpuSecondsOf(meter) * 1000) / IDLE_MS
}

function cpuSecondsOf(meter: ProcessMeter): number {
  return sum(Object.values(meter.end()).map(({ cpuSeconds }) => cpuSeconds))
}

const WRITE_COUNT = 500
const WRITES_IN_PARALLEL = 16
const WRITTEN_TO: ReadonlySet<string> = new Set(['kube-apiserver', 'etcd'])

/** Creates, patches and deletes ConfigMaps in a new namespace, through the client that Pawl uses. */
async function measureWrites(kube: KubeClient, processes: readonly ProcessTree[]): Promise<Speed> {
  const namespace = `bench-${randomBytes(4).toString('hex')}`
  const path = `/api/v1/namespaces/${namespace}`
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  try {
    const names = Array.from({ length: WRITE_COUNT }, (_, index) => `map-${index}`)
    const patch = { body: { data: { key: 'other' } }, contentType: 'application/merge-patch+json' }
    const meter = new ProcessMeter(processes.filter(({ name }) => WRITTEN_TO.has(name)))
    const [startedAt, clientBefore] = [performance.now(), process.cpuUsage()]
    const forEach = (write: (name: string) => Promise<unknown>) => inParallel(names, WRITES_IN_PARALLEL, write)
    await forEach((name) => kube.request('POST', `${path}/configmaps`, { body: configMap(name, namespace) }))
    await forEach((name) => kube.request('PATCH', `${path}/configmaps/${name}`, patch))
    await forEach((name) => kube.request('DELETE', `${path}/configmaps/${name}`))
    const seconds = (performance.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(clientBefore)
    const writes = 3 * WRITE_COUNT
    return { perSecond: writes / seconds, cpuMs: (cpuSecondsOf(meter) * 1000 + (user + system) / 1000) / writes }
  } finally {
    await kube.request('DELETE', path)
  }
}

const WORKFLOW_COUNT = 200
const WORKFLOWS_IN_PARALLEL = 50
const WARM_UP_COUNT = 50

/** The bench runs its own worker, on its own task queue. It starts workflows eagerly, like Pawl. */
async function measureWorkflows(address: string, temporal: readonly ProcessTree[]) {
  const logger = new DefaultLogger('ERROR')
  Runtime.install({ logger, shutdownSignals: [] })
  const workflowsPath = fileURLToPath(new URL('no-op-workflows.ts', import.meta.url))
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger })
  const connection = await NativeConnection.connect({ address })
  const taskQueue = `bench-${randomUUID()}`
  const activities = { nothing: () => Promise.resolve() }
  const worker = await Worker.create({ connection, taskQueue, workflowBundle, activities })
  const running = worker.run()
  // Eager starts need client and worker on one connection.
  const { workflow } = new Client({ connection })
  const runMany = async (type: string, count: number) => {
    await inParallel(Array.from({ length: count }), WORKFLOWS_IN_PARALLEL, () =>
      workflow.execute(type, { taskQueue, workflowId: `bench-${randomUUID()}`, requestEagerStart: true }),
    )
  }
  const measure = async (type: string): Promise<Speed> => {
    await runMany(type, WARM_UP_COUNT)
    const meter = new ProcessMeter(temporal)
    const startedAt = performance.now()
    await runMany(type, WORKFLOW_COUNT)
    const seconds = (performance.now() - startedAt) / 1000
    return { perSecond: WORKFLOW_COUNT / seconds, cpuMs: (cpuSecondsOf(meter) * 1000) / WORKFLOW_COUNT }
  }
  try {
    return { noOp: await measure('noOp'), oneLocalActivity: await measure('oneLocalActivity') }
  } finally {
    worker.shutdown()
    await running
    await connection.close()
  }
}
