// A deployer of a third party: it uses the API and the contract of deployers, but no code of Pawl. Source:
// spec/landscaper.md 4.9.
//
//   E1. It changes only items of its own type, and only while jobID and jobIDFinished differ.
//   E2. It starts an item with one status write and finishes it with another one, which contains both the final phase
//       and jobIDFinished.

import { setTimeout as sleep } from 'node:timers/promises'
import { isConflict, isNotFound } from '../../../activities/kube/errors.ts'
import { type Cluster, FINALIZER, type LsObject } from '../cluster/cluster.ts'

export interface Behaviour {
  readonly install?: (item: LsObject) => 'done' | 'failed' | 'wait'
  readonly uninstall?: (item: LsObject) => 'done' | 'failed' | 'wait'
  readonly exports?: Readonly<Record<string, unknown>>
}

const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'
const POLL_MS = 50

export class Deployer {
  /** A test can change both functions while the deployer runs. */
  install: (item: LsObject) => 'done' | 'failed' | 'wait'
  uninstall: (item: LsObject) => 'done' | 'failed' | 'wait'
  readonly #cluster: Cluster
  readonly #type: string
  readonly #exports: Behaviour['exports']
  #stopped = false
  #loop: Promise<void> = Promise.resolve()

  private constructor(cluster: Cluster, type: string, { install, uninstall, exports }: Behaviour) {
    this.#cluster = cluster
    this.#type = type
    this.install = install ?? (() => 'done')
    this.uninstall = uninstall ?? (() => 'done')
    this.#exports = exports
  }

  static start(cluster: Cluster, type: string, behaviour: Behaviour = {}): Deployer {
    const deployer = new Deployer(cluster, type, behaviour)
    deployer.#loop = deployer.#run()
    return deployer
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const items = await this.#cluster.list('deployitems')
      for (const item of items) if (item.spec?.['type'] === this.#type && isTriggered(item)) await this.#work(item)
      await sleep(POLL_MS)
    }
  }

  async #work(item: LsObject): Promise<void> {
    try {
      await (item.metadata.deletionTimestamp === undefined ? this.#reconcile(item) : this.#delete(item))
    } catch (error) {
      // Another client changed the item in the meantime. The next poll reads the item again.
      if (!isConflict(error) && !isNotFound(error)) throw error
    }
  }

  async #reconcile(item: LsObject): Promise<void> {
    const taken = await this.#takeUp(item, 'Progressing')
    const answer = this.install(taken)
    if (answer === 'wait') return
    const exportRef = this.#exports === undefined ? undefined : await this.#export(taken, this.#exports)
    await this.#status(taken, {
      phase: answer === 'done' ? 'Succeeded' : 'Failed',
      jobIDFinished: taken.status?.jobID,
      ...(exportRef !== undefined && { exportRef }),
    })
  }

  async #delete(item: LsObject): Promise<void> {
    const taken = await this.#takeUp(item, 'Deleting')
    const isReleased = taken.metadata.annotations?.[WITHOUT_UNINSTALL] === 'true'
    const answer = isReleased ? 'done' : this.uninstall(taken)
    if (answer === 'wait') return
    if (answer === 'failed') {
      await this.#status(taken, { phase: 'DeleteFailed', jobIDFinished: taken.status?.jobID })
      return
    }
    const finalizers = (taken.metadata.finalizers ?? []).filter((one) => one !== FINALIZER)
    const { name, resourceVersion } = taken.metadata
    await this.#cluster.patch('deployitems', name, { metadata: { finalizers, resourceVersion } })
  }

  async #takeUp(item: LsObject, phase: 'Progressing' | 'Deleting'): Promise<LsObject> {
    const { lastReconcileTime, jobIDGenerationTime, phase: found } = item.status ?? {}
    const isTaken = found === phase && String(lastReconcileTime) >= String(jobIDGenerationTime)
    if (isTaken) return item
    return await this.#status(item, {
      phase,
      lastReconcileTime: new Date().toISOString(),
      observedGeneration: item.metadata.generation,
      deployer: { identity: 'test', name: this.#type, version: '1' },
    })
  }

  async #status({ metadata }: LsObject, status: object): Promise<LsObject> {
    const { name, resourceVersion } = metadata
    return await this.#cluster.patch('deployitems', name, { metadata: { resourceVersion }, status }, 'status')
  }

  async #export({ metadata }: LsObject, exports: object): Promise<object> {
    const name = `${metadata.name}-export`
    const config = Buffer.from(JSON.stringify(exports)).toString('base64')
    await this.#cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: { config } }, 'secrets')
    return { name, namespace: this.#cluster.namespace }
  }
}

function isTriggered({ status }: LsObject): boolean {
  return status?.jobID !== undefined && status.jobID !== status.jobIDFinished
}
