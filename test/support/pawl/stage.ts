// The fixture of one e2e test file: a namespace, and a Pawl (a bridge and a worker) for it.

import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { Cluster } from '../cluster/cluster.ts'
import { Pawl, type PawlOptions } from './pawl.ts'
import type { TestServers } from '../servers/servers.ts'

// The worker's default time-outs, in place of the short ones of `Pawl.start`. Test files share two cores, where a slow
// process must not count as dead.
export const PRODUCTION_TASK_TIMEOUTS = ['--workflow-task-timeout-ms', '10000', '--sticky-timeout-ms', '4000']
// A wake lease is the time for which a dispatcher holds a wake, an entry of the journal's work queue.
export const PRODUCTION_TIMEOUTS = [...PRODUCTION_TASK_TIMEOUTS, '--wake-lease-ms', '10000']
// On a busy machine a process takes many seconds to start.
const SET_UP_MS = 240_000

export class Stage {
  #cluster: Cluster | undefined
  #pawl: Pawl | undefined

  get servers(): TestServers {
    return inject('servers')
  }

  get cluster(): Cluster {
    if (this.#cluster === undefined) throw new Error('the stage is set up by beforeAll')
    return this.#cluster
  }

  get pawl(): Pawl {
    if (this.#pawl === undefined) throw new Error('the stage is set up by beforeAll')
    return this.#pawl
  }

  /** @param options a function that runs after the namespace exists, so that it can create objects there. */
  async setUp(name: string, options: () => Promise<Partial<PawlOptions>>): Promise<void> {
    const { servers } = this
    this.#cluster = new Cluster(servers.kubeconfigPath, name)
    await this.#cluster.createNamespace()
    const own = await options()
    const workerFlags = [...PRODUCTION_TIMEOUTS, ...(own.workerFlags ?? [])]
    this.#pawl = await Pawl.start({ name, servers, namespace: name, ...own, workerFlags })
  }

  /** Stops the Pawl. The namespace and its objects stay. */
  async tearDown(): Promise<void> {
    await this.#pawl?.stop()
    await this.#cluster?.kube.close()
  }
}

/**
 * Sets up a stage before the tests of the file, and stops its Pawl after them. After a failed test it prints the wakes
 * and the unfinished runs in the journal.
 *
 * @param name of the namespace and the Pawl.
 * @param options called when the namespace exists.
 */
export function useStage(
  name: string,
  options: () => Promise<Partial<PawlOptions>> = () => Promise.resolve({}),
): Stage {
  const stage = new Stage()
  beforeAll(() => stage.setUp(name, options), SET_UP_MS)
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      process.stderr.write(`${name}: open after "${task.name}": ${await stage.pawl.openState()}\n`)
  })
  afterAll(() => stage.tearDown())
  return stage
}
