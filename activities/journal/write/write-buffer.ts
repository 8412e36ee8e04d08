// What runs of this process have written and the journal has not been told yet, run by run: the journal follows the writes, one transaction for
// many of them. Source: docs/adr/0026.
//
//   L1. A run's answers are journaled in their order, all at once, when it asks for it, and at the latest FLUSH_MS after the first of them.
//   L2. What could not be journaled stays, and the next flush tries it again. Until then this process knows it (`knows`).
//   L3. A process that dies takes its ledgers along. The actions that they belong to are open, so the bridge holds the events of these objects
//       (actions.ts, A2) and journals them when the hold expires: no write is missing.

import {
  type GroupKind,
  isChildOf,
  isSameGroupKind,
  type Owner,
  ownerReferenceOf,
} from '../../../workflows/kit/index.ts'
import type { KnownObject } from '../read/known-objects.ts'
import type { WriteNews } from './events.ts'

/** Far below the time for which the bridge holds events. */
export const FLUSH_MS = 200
const RETRY_MS = 1000

interface WriteBuffer {
  readonly told: WriteNews[]
  timer: NodeJS.Timeout | undefined
  flushing: Promise<void> | undefined
}

export interface WriteBufferDeps {
  /** Journals what one run has told. @throws when the journal cannot be written. */
  readonly write: (told: readonly WriteNews[]) => Promise<void>
  /** A flush that nobody waits for has failed. */
  readonly report: (error: unknown) => void
}

export class WriteBuffers {
  readonly #deps: WriteBufferDeps
  /** By workflow ID; none is empty. */
  readonly #ledgers = new Map<string, WriteBuffer>()

  constructor(deps: WriteBufferDeps) {
    this.#deps = deps
  }

  add(workflowID: string, told: WriteNews): void {
    const ledger = this.#ledgers.get(workflowID) ?? { told: [], timer: undefined, flushing: undefined }
    this.#ledgers.set(workflowID, ledger)
    ledger.told.push(told)
    ledger.timer ??= this.#flushIn(FLUSH_MS, workflowID)
  }

  /** Journals all that the run has told so far. @throws when the journal cannot be written; then the next flush tries it again (L2). */
  async flush(workflowID: string): Promise<void> {
    for (;;) {
      const ledger = this.#ledgers.get(workflowID)
      if (ledger === undefined) return
      ledger.flushing ??= this.#flushOnce(workflowID, ledger).finally(() => {
        ledger.flushing = undefined
      })
      await ledger.flushing
    }
  }

  /** Journals everything, as far as it can be. */
  async flushAll(): Promise<void> {
    await Promise.all([...this.#ledgers.keys()].map(async (workflowID) => await this.#flushUnasked(workflowID)))
  }

  /** The newest states of the object and of its children that the journal may not know yet (L2). */
  unflushedStates(owner: Owner): readonly KnownObject[] {
    return [...this.#ledgers.values()]
      .flatMap(({ told }) => told.flatMap(({ events }) => events))
      .filter(({ event }) => !event.unfollowed && (event.uid === owner.uid || isChildOf(event.projection, owner)))
      .map(({ event: { group, kind, uid, namespace, name, projection, resourceVersion, type } }) => ({
        group,
        kind,
        uid,
        namespace,
        name,
        owner: ownerReferenceOf(projection) ?? null,
        version: resourceVersion,
        deleted: type === 'DELETED',
        presumedDeleted: false,
      }))
  }

  /** The newest version of a kind that runs have written in a namespace, or anywhere, and the journal may not know yet; 0 for none. */
  newestVersion(kind: GroupKind, namespace: string | undefined): number {
    const versions = [...this.#ledgers.values()].flatMap(({ told }) =>
      told.flatMap(({ events }) =>
        events
          .filter(({ event }) => isSameGroupKind(event, kind) && (namespace ?? event.namespace) === event.namespace)
          .map(({ event }) => event.resourceVersion),
      ),
    )
    return Math.max(0, ...versions)
  }

  /** Whether the run has made the object, and the journal may not know it yet. */
  hasCreated(workflowID: string, uid: string): boolean {
    const told = this.#ledgers.get(workflowID)?.told ?? []
    return told.some(({ events }) =>
      events.some(({ event, origin }) => event.uid === uid && event.type === 'ADDED' && !origin.conflicted),
    )
  }

  async #flushOnce(workflowID: string, ledger: WriteBuffer): Promise<void> {
    const { told } = ledger
    const taken = told.length
    await this.#deps.write(told.slice(0, taken))
    told.splice(0, taken)
    clearTimeout(ledger.timer)
    ledger.timer = told.length > 0 ? this.#flushIn(FLUSH_MS, workflowID) : undefined
    if (told.length === 0) this.#ledgers.delete(workflowID)
  }

  #flushIn(ms: number, workflowID: string): NodeJS.Timeout {
    return setTimeout(() => void this.#flushUnasked(workflowID), ms)
  }

  async #flushUnasked(workflowID: string): Promise<void> {
    try {
      await this.flush(workflowID)
    } catch (error) {
      this.#deps.report(error)
      const ledger = this.#ledgers.get(workflowID)
      if (ledger === undefined) return
      clearTimeout(ledger.timer)
      ledger.timer = this.#flushIn(RETRY_MS, workflowID)
    }
  }
}
