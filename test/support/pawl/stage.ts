// The namespace and the Pawl of one e2e test file.

import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { Cluster } from '../cluster/cluster.ts'
import { Pawl, type PawlOptions } from './pawl.ts'
import type { TestServers } from '../servers/servers.ts'

// The time-outs of production. Test files share two cores, where a slow process must not count as dead.
export const PRODUCTION_TASK_TIMEOUTS = ['--workflow-task-timeout-ms', '10000', '--sticky-timeout-ms', '4000']
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

  async setUp(name: string, options: () => Promise<Partial<PawlOptions>>): Promise<void> {
    const { servers } = this
    this.#cluster = new Cluster(servers.kubeconfigPath, name)
    await this.#cluster.createNamespace()
    const own = await options()
    const workerFlags = [...PRODUCTION_TIMEOUTS, ...(own.workerFlags ?? [])]
    this.#pawl = await Pawl.start({ name, servers, namespace: name, ...own, workerFlags })
  }

  async tearDown(): Promise<void> {
    await this.#pawl?.stop()
    await this.#cluster?.kube.close()
  }
}

/** Sets up a stage before the tests of the file and removes it afterwards. @param name of the namespace. */
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
