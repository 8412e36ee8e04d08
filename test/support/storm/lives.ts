// Simulates users who create, change, interrupt and delete Installations at random, and wait for jobs or not. At the
// end, each Installation must match its last change.
//
//   L1. A user who does not wait continues before the job has ended, and ignores its result.
//   L2. `kept` has the last change of each remaining Installation. Deleted Installations must disappear.

import { blueprintOf, type Cluster, installation, type LsObject, OPERATION, waitingItem } from '../cluster/cluster.ts'
import {
  blueprintWith,
  type Content,
  createImports,
  drawContent,
  IMPORTS,
  noteName,
  wrongNotes,
  wrongOf,
} from './content.ts'

const CHANGES = 3
const INTERRUPTED = 'InterruptOperation'

export interface LivesOptions {
  /** From 0 to 1. */
  readonly random: () => number
  /** A job or deletion that does not end within this time counts as lost. */
  readonly limitMs: number
  /** The prefix of names; unique in the namespace. */
  readonly prefix?: string
  /** Called after each step of each life. */
  readonly onStep?: () => void
}

export class Lives {
  readonly #cluster: Cluster
  readonly #options: LivesOptions
  readonly #random: () => number
  /** The last change of each Installation (L2). */
  readonly kept = new Map<string, Content>()
  readonly failures: string[] = []
  readonly counts = { created: 0, changed: 0, interrupted: 0, deleted: 0, manifests: 0, subInstallations: 0 }

  constructor(cluster: Cluster, options: LivesOptions) {
    this.#cluster = cluster
    this.#options = options
    this.#random = options.random
  }

  /** Creates the objects that all Installations of the namespace import. */
  async prepare(): Promise<void> {
    if ((await this.#cluster.get('targets', 'here')) === undefined) await createImports(this.#cluster)
  }

  /** Runs `abreast` lives concurrently, and starts a new life after each, until `isOver`. */
  async run(abreast: number, isOver: () => boolean): Promise<void> {
    const lane = async () => {
      while (!isOver()) {
        const name = `${this.#options.prefix ?? 'life'}-${this.counts.created}`
        await this.#live(name, isOver).catch((error: unknown) => this.failures.push(String(error)))
      }
    }
    await Promise.all(Array.from({ length: abreast }, lane))
  }

  /** Deletes all remaining Installations and waits until they are gone. */
  async end(): Promise<void> {
    const names = [...this.kept.keys()]
    await Promise.all(names.map(async (name) => await this.#delete(name)))
  }

  /** Differences between the Installations and their last changes, one sentence each. */
  async wrong(): Promise<readonly string[]> {
    const found = await Promise.all([...this.kept].map(async ([name, content]) => await this.#wrongWith(name, content)))
    return [...found.flat(), ...(await wrongNotes(this.#cluster, [...this.kept.values()]))]
  }

  async #live(name: string, isOver: () => boolean): Promise<void> {
    this.counts.created += 1
    const blueprint = this.#draw(name, 0)
    const { spec, ...created } = installation(name, [], { spec: { imports: IMPORTS } })
    await this.#cluster.create({ ...created, spec: { ...spec, ...blueprint } }, 'installations')
    this.#options.onStep?.()
    if (this.#random() < 0.15) await this.#interrupt(name)
    else if (this.#isPatient()) await this.#succeeded(name)
    // At least one change, because an interrupted job has failed.
    for (let change = 0; change === 0 || (change < CHANGES && !isOver()); change++) {
      this.counts.changed += 1
      await this.#cluster.patch('installations', name, {
        metadata: { annotations: { [OPERATION]: 'reconcile' } },
        spec: this.#draw(name, change + 1),
      })
      this.#options.onStep?.()
      if (this.#isPatient()) await this.#succeeded(name)
    }
    if (isOver()) {
      await this.#succeeded(name)
      return
    }
    await this.#delete(name)
  }

  async #delete(name: string): Promise<void> {
    this.kept.delete(name)
    await this.#cluster.delete('installations', name)
    this.#options.onStep?.()
    await this.#cluster.waitUntilGone(name, 'installations', this.#options.limitMs)
    this.counts.deleted += 1
  }

  /** Starts a job with an item that waits, and interrupts the job. */
  async #interrupt(name: string): Promise<void> {
    const items = [waitingItem('slow')]
    const text = JSON.stringify(blueprintOf(items))
    await this.#cluster.patch('installations', name, {
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
      spec: { blueprint: { inline: { filesystem: { 'blueprint.yaml': text } } } },
    })
    await this.#cluster.waitUntilItems(
      name,
      ['slow'],
      (one) => one?.status?.phase === 'Progressing',
      this.#options.limitMs,
    )
    this.counts.interrupted += 1
    await this.#cluster.patch('installations', name, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    const { status } = await this.#cluster.waitUntilFinished(name, undefined, 'installations', this.#options.limitMs)
    const item = (await this.#cluster.items(name)).get('slow')
    // Without the interrupt, the item fails at its timeout, with another reason.
    if (item?.status?.lastError?.reason !== INTERRUPTED)
      throw new Error(`${name} was interrupted and ended otherwise: ${JSON.stringify([status, item?.status])}`)
  }

  /** Waits for the end of the job of the last generation. @throws if the job did not succeed. */
  async #succeeded(name: string): Promise<void> {
    const isDone = (object: LsObject | undefined) =>
      object !== undefined && isFinished(object) && object.status?.observedGeneration === object.metadata.generation
    const { status } = await this.#cluster.waitUntil('installations', name, isDone, this.#options.limitMs)
    if (status?.phase !== 'Succeeded') throw new Error(`${name} ended in ${status?.phase}: ${JSON.stringify(status)}`)
  }

  async #wrongWith(name: string, content: Content): Promise<readonly string[]> {
    const object = await this.#cluster.get('installations', name)
    if (object === undefined) return [`${name} is gone`]
    if (!isFinished(object) || object.status?.phase !== 'Succeeded')
      return [`${name} is ${JSON.stringify(object.status)}, expected a job that Succeeded`]
    return await wrongOf(this.#cluster, name, content)
  }

  /** Draws new content and stores it in `kept`. */
  #draw(name: string, change: number) {
    const content = drawContent(this.#random, noteName(name, change), this.kept.size === 0)
    this.kept.set(name, content)
    if (content.note !== undefined) this.counts.manifests += 1
    if (content.inner !== undefined) this.counts.subInstallations += 1
    const text = blueprintWith(content, this.#cluster.namespace)
    return { blueprint: { inline: { filesystem: { 'blueprint.yaml': text } } } }
  }

  #isPatient(): boolean {
    return this.#random() < 0.7
  }
}

function isFinished({ metadata, status }: LsObject): boolean {
  const { jobID, jobIDFinished } = status ?? {}
  return jobID !== undefined && jobID === jobIDFinished && metadata.annotations?.[OPERATION] === undefined
}
