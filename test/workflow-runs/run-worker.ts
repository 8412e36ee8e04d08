// A worker for one test file, with the workflows of one module, on the shared Temporal server.

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'

interface StartOptions {
  readonly workflowId: string
  readonly args: unknown[]
  readonly workflowTaskTimeout?: '5 seconds' | '60 seconds'
}

/** Registers the hooks of the calling test file. `file` is the module of the workflows, in this folder. */
export function useRunWorker(file: string, activities: object = {}) {
  const taskQueue = `${file}-${randomUUID()}`
  let client: Client
  let stop: () => Promise<void>

  beforeAll(async () => {
    const logger = new DefaultLogger('ERROR', () => undefined)
    Runtime.install({ logger })
    const address = inject('servers').temporalAddress
    const connection = await Connection.connect({ address })
    const native = await NativeConnection.connect({ address })
    client = new Client({ connection })
    const workflowBundle = await bundleWorkflowCode({ workflowsPath: join(import.meta.dirname, file), logger })
    const worker = await Worker.create({ connection: native, taskQueue, workflowBundle, activities })
    const running = worker.run()
    stop = async () => {
      worker.shutdown()
      await running
      await native.close()
      await connection.close()
    }
  })
  afterAll(async () => {
    await stop()
  })

  return {
    start: (workflow: string, options: StartOptions) => client.workflow.start(workflow, { ...options, taskQueue }),
    getHandle: (workflowID: string, runID: string) => client.workflow.getHandle(workflowID, runID),
  }
}
