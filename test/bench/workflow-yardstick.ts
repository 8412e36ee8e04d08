// Yardstick: how many workflows a second the set's Temporal does when there is nothing in them.
//
// The worker is the bench's own, in its own process, on a queue of its own; workflows are started eagerly, as Pawl's are.

import { Client } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'

import { inParallel } from '../../activities/kube/in-parallel.ts'
import { ProcessMeter, type ProcessTree } from './processes.ts'

export interface WorkflowSpeed {
  readonly perSecond: number
  /** CPU of Temporal alone, for each workflow. */
  readonly coreMs: number
}

const COUNT = 200
const AT_ONCE = 50
const WARM_UP = 50

export class WorkflowYardstick {
  readonly #connection: NativeConnection
  readonly #worker: Worker
  readonly #running: Promise<void>
  readonly #client: Client
  readonly #temporal: readonly ProcessTree[]
  readonly #taskQueue: string

  private constructor(connection: NativeConnection, worker: Worker, temporal: readonly ProcessTree[]) {
    this.#connection = connection
    this.#worker = worker
    this.#temporal = temporal
    this.#taskQueue = worker.options.taskQueue
    // Eager starts need client and worker on one connection.
    this.#client = new Client({ connection })
    this.#running = worker.run()
  }

  static async open(address: string, temporal: readonly ProcessTree[]): Promise<WorkflowYardstick> {
    const quiet = new DefaultLogger('ERROR')
    Runtime.install({ logger: quiet, shutdownSignals: [] })
    const workflowsPath = fileURLToPath(new URL('no-op-workflows.ts', import.meta.url))
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: quiet })
    const connection = await NativeConnection.connect({ address })
    const activities = { nothing: () => Promise.resolve() }
    const taskQueue = `bench-${randomUUID()}`
    const worker = await Worker.create({ connection, taskQueue, workflowBundle, activities })
    return new WorkflowYardstick(connection, worker, temporal)
  }

  async measure(workflow: 'noOp' | 'oneLocalActivity'): Promise<WorkflowSpeed> {
    await this.#runMany(workflow, WARM_UP)
    const meter = new ProcessMeter(this.#temporal)
    const begin = performance.now()
    await this.#runMany(workflow, COUNT)
    const seconds = (performance.now() - begin) / 1000
    const cpuSeconds = Object.values(meter.end()).reduce((total, usage) => total + usage.cpuSeconds, 0)
    return { perSecond: COUNT / seconds, coreMs: (cpuSeconds * 1000) / COUNT }
  }

  async close(): Promise<void> {
    this.#worker.shutdown()
    await this.#running
    await this.#connection.close()
  }

  async #runMany(workflow: string, count: number): Promise<void> {
    await inParallel(Array.from({ length: count }), AT_ONCE, () =>
      this.#client.workflow.execute(workflow, {
        taskQueue: this.#taskQueue,
        workflowId: `bench-${randomUUID()}`,
        requestEagerStart: true,
      }),
    )
  }
}
