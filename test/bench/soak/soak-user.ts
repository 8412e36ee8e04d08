// A user of the soak: changes its Installations at random, and checks the phase in which jobs end.
//
//   U1. The user waits for the end of some jobs. The next change or deletion may interrupt the others.
//   U2. The items determine the expected phase: Failed with a failing item, otherwise Succeeded.

import { setTimeout as sleep } from 'node:timers/promises'

import { blueprintOf, Cluster, failingItem, installation, type Item, OPERATION } from '../../support/cluster/cluster.ts'

export type Change = 'create' | 'edit items' | 'edit configuration' | 'second job' | 'fail' | 'delete'

/** Weights of the changes of an existing Installation. */
const CHANGES: readonly (readonly [Change, number])[] = [
  ['edit items', 20],
  ['edit configuration', 25],
  ['second job', 25],
  ['fail', 10],
  ['delete', 20],
]
const OWNED = 5
const MOST_ITEMS = 6
/** The share of jobs that the user does not wait for. */
const NO_WAIT_SHARE = 0.25
const PAUSE_MS = 400
/** A killed worker holds its tasks until their time-outs have passed. */
const JOB_LIMIT_MS = 120_000

interface Owned {
  readonly name: string
  readonly items: readonly Item[]
}

export interface UserOptions {
  readonly kubeconfigPath: string
  readonly namespace: string
  /** The prefix of names; unique to the user. */
  readonly prefix: string
  /** From 0 to 1. */
  readonly random: () => number
}

export class SoakUser {
  /** The number of changes by type. */
  readonly counts = new Map<Change, number>()
  /** Errors and unexpected ends. */
  readonly failures: string[] = []
  readonly #cluster: Cluster
  readonly #options: UserOptions
  readonly #owned = new Map<string, Owned>()
  #made = 0

  constructor(options: UserOptions) {
    this.#options = options
    this.#cluster = new Cluster(options.kubeconfigPath, options.namespace)
  }

  /** Makes changes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#try(() => this.#change())
      await sleep(this.#options.random() * PAUSE_MS)
    }
  }

  /** Deletes all Installations and waits for the end of the deletions. */
  async deleteAll(): Promise<void> {
    await Promise.all([...this.#owned.keys()].map((name) => this.#try(() => this.#delete(name, true))))
    await this.#cluster.kube.close()
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failures.push(error instanceof Error ? error.message : String(error))
    }
  }

  async #change(): Promise<void> {
    const owned = [...this.#owned.values()]
    const one = owned[Math.floor(this.#options.random() * OWNED)]
    if (one === undefined) {
      await this.#create()
      return
    }
    const change = this.#choose()
    if (change === 'delete') {
      await this.#delete(one.name, this.#waits())
      return
    }
    this.#count(change)
    const next = { name: one.name, items: this.#itemsAfter(change, one.items) }
    this.#owned.set(one.name, next)
    await this.#submit(next)
  }

  #itemsAfter(change: Exclude<Change, 'create' | 'delete'>, items: readonly Item[]): readonly Item[] {
    switch (change) {
      case 'second job':
        return items
      case 'edit items':
        return this.#someItems()
      case 'edit configuration':
        return items.map(({ name, dependsOn = [] }) => ({ name, dependsOn, config: this.#configuration() }))
      case 'fail':
        return [...items.slice(0, -1), failingItem(items.at(-1)?.name ?? 'item-0', items.at(-1)?.dependsOn)]
    }
  }

  async #create(): Promise<void> {
    this.#count('create')
    const one = { name: `${this.#options.prefix}-${this.#made++}`, items: this.#someItems() }
    this.#owned.set(one.name, one)
    await this.#cluster.create(installation(one.name, one.items), 'installations')
    if (this.#waits()) await this.#expectEnd(one, undefined)
  }

  async #submit(one: Owned): Promise<void> {
    const before = await this.#cluster.get('installations', one.name)
    await this.#cluster.patch('installations', one.name, {
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
      spec: { blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprintOf(one.items)) } } } },
    })
    const { jobID, jobIDFinished } = before?.status ?? {}
    const isIdle =
      jobID !== undefined && jobID === jobIDFinished && !(OPERATION in (before?.metadata.annotations ?? {}))
    // A running job may or may not have read the change, so its result is not checked.
    if (!isIdle || !this.#waits()) return
    await this.#expectEnd(one, jobID)
  }

  /** U2 */
  async #expectEnd({ name, items }: Owned, jobBefore: string | undefined): Promise<void> {
    const isEnded = ({ jobID, jobIDFinished }: { readonly jobID?: string; readonly jobIDFinished?: string }) =>
      jobID !== undefined && jobID === jobIDFinished && jobID !== jobBefore
    const { status } = await this.#cluster.waitUntil(
      'installations',
      name,
      (object) =>
        object !== undefined && isEnded(object.status ?? {}) && !(OPERATION in (object.metadata.annotations ?? {})),
      JOB_LIMIT_MS,
    )
    const expected = items.some(({ config }) => config?.['phase'] === 'Failed') ? 'Failed' : 'Succeeded'
    if (status?.phase !== expected)
      throw new Error(`${name}: ended in ${status?.phase ?? 'no phase'}, expected ${expected}`)
  }

  async #delete(name: string, waits: boolean): Promise<void> {
    this.#count('delete')
    this.#owned.delete(name)
    await this.#cluster.delete('installations', name)
    if (waits) await this.#cluster.waitUntil('installations', name, (object) => object === undefined, JOB_LIMIT_MS)
  }

  #choose(): Exclude<Change, 'create'> {
    let left = this.#options.random() * CHANGES.reduce((total, [, chance]) => total + chance, 0)
    for (const [change, chance] of CHANGES) {
      left -= chance
      if (left < 0 && change !== 'create') return change
    }
    return 'second job'
  }

  #someItems(): readonly Item[] {
    const count = 1 + Math.floor(this.#options.random() * MOST_ITEMS)
    return Array.from({ length: count }, (_, index) => {
      const dependsOn = index > 0 && this.#options.random() < 0.5 ? [`item-${index - 1}`] : []
      return { name: `item-${index}`, dependsOn, config: this.#configuration() }
    })
  }

  #configuration(): Readonly<Record<string, unknown>> {
    const key = String(this.#options.random())
    const providerStatus = {
      apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1',
      kind: 'ProviderStatus',
      key,
    }
    return { providerStatus }
  }

  #waits(): boolean {
    return this.#options.random() >= NO_WAIT_SHARE
  }

  #count(change: Change): void {
    this.counts.set(change, (this.counts.get(change) ?? 0) + 1)
  }
}
