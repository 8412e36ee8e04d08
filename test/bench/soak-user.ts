// One user of the soak: changes Installations of its own at random, and holds each job against what it has to end with.
//
//   U1. Of the jobs, some are waited for and some not: then the next change comes while the job runs, or a deletion.
//   U2. What an Installation has to end in is known from its items alone: Failed with a failing item, else Succeeded.

import { setTimeout as sleep } from 'node:timers/promises'

import { blueprintOf, Cluster, failingItem, installation, type Item, OPERATION } from '../support/cluster/cluster.ts'

export type Change = 'create' | 'edit items' | 'edit configuration' | 'second job' | 'fail' | 'delete'

/** Chances of each, for an Installation that is there. */
const CHANGES: readonly (readonly [Change, number])[] = [
  ['edit items', 20],
  ['edit configuration', 25],
  ['second job', 25],
  ['fail', 10],
  ['delete', 20],
]
const OWNED = 5
const MOST_ITEMS = 6
const IMPATIENCE = 0.25
const PAUSE_MS = 400
/** A killed worker holds its tasks until their time-outs are over. */
const JOB_LIMIT_MS = 120_000

interface Owned {
  readonly name: string
  readonly items: readonly Item[]
}

export interface UserOptions {
  readonly kubeconfigPath: string
  readonly namespace: string
  /** Of names; no two users have the same. */
  readonly prefix: string
  /** From 0 to 1. */
  readonly random: () => number
}

export class SoakUser {
  /** How often each change was made. */
  readonly counts = new Map<Change, number>()
  /** What did not end as it had to. */
  readonly failures: string[] = []
  readonly #cluster: Cluster
  readonly #options: UserOptions
  readonly #owned = new Map<string, Owned>()
  #made = 0

  constructor(options: UserOptions) {
    this.#options = options
    this.#cluster = new Cluster(options.kubeconfigPath, options.namespace)
  }

  /** Makes changes until told to end. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#try(() => this.#change())
      await sleep(this.#options.random() * PAUSE_MS)
    }
  }

  /** Deletes all; waits until they are gone. */
  async leave(): Promise<void> {
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
      await this.#delete(one.name, this.#isPatient())
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
    if (this.#isPatient()) await this.#expectEnd(one, undefined)
  }

  async #submit(one: Owned): Promise<void> {
    const before = await this.#cluster.get('installations', one.name)
    await this.#cluster.patch('installations', one.name, {
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
      spec: { blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprintOf(one.items)) } } } },
    })
    const { jobID, jobIDFinished } = before?.status ?? {}
    const isAtRest =
      jobID !== undefined && jobID === jobIDFinished && !(OPERATION in (before?.metadata.annotations ?? {}))
    // A job that runs, or begins just now, may or may not have seen the change: what it ends with says nothing.
    if (!isAtRest || !this.#isPatient()) return
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

  async #delete(name: string, isPatient: boolean): Promise<void> {
    this.#count('delete')
    this.#owned.delete(name)
    await this.#cluster.delete('installations', name)
    if (isPatient) await this.#cluster.waitUntil('installations', name, (object) => object === undefined, JOB_LIMIT_MS)
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

  #isPatient(): boolean {
    return this.#options.random() >= IMPATIENCE
  }

  #count(change: Change): void {
    this.counts.set(change, (this.counts.get(change) ?? 0) + 1)
  }
}
