// Write-behind buffer: answers of runs' writes that are not journaled yet, per run. One transaction journals many of
// them. Source: docs/adr/0026.
//
//   L1. A run's answers are journaled in order, all together, when the run flushes, at the latest FLUSH_MS after the
//       first answer.
//   L2. Answers that could not be journaled stay in the buffer, and the next flush retries them. Until then this
//       process knows them (`unflushedStates`).
//   L3. A process that dies loses its buffers. Their actions are unfinished, so the bridge holds the events of these
//       objects (actions.ts, A2) and journals them when the hold expires: no write is lost.

import {
  type GroupKind,
  isChildOf,
  isSameGroupKind,
  type Owner,
  ownerReferenceOf,
} from '../../../workflows/kit/index.ts'
import type { KnownObject } from '../read/known-objects.ts'
import type { WriteNews } from './events.ts'

/** Far below the bridge's hold time. */
export const FLUSH_MS = 200
const RETRY_MS = 1000

interface WriteBuffer {
  readonly news: WriteNews[]
  timer: NodeJS.Timeout | undefined
  flushing: Promise<void> | undefined
}

export interface WriteBufferDeps {
  /**
   * Journals the answers of one run. @throws when the journal cannot be written.
   */
  readonly write: (news: readonly WriteNews[]) => Promise<void>
  /** Called when a flush without a waiting caller fails. */
  readonly report: (error: unknown) => void
}

export class WriteBuffers {
  readonly #deps: WriteBufferDeps
  /** By workflow ID; no buffer is empty. */
  readonly #ledgers = new Map<string, WriteBuffer>()

  constructor(deps: WriteBufferDeps) {
    this.#deps = deps
  }

  add(workflowID: string, news: WriteNews): void {
    const ledger = this.#ledgers.get(workflowID) ?? { news: [], timer: undefined, flushing: undefined }
    this.#ledgers.set(workflowID, ledger)
    ledger.news.push(news)
    ledger.timer ??= this.#flushIn(FLUSH_MS, workflowID)
  }

  /**
   * Journals all buffered answers of the run. @throws when the journal cannot be written; the next flush retries (L2).
   */
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

  /** Journals all buffered answers; reports failures. */
  async flushAll(): Promise<void> {
    await Promise.all([...this.#ledgers.keys()].map(async (workflowID) => await this.#flushUnasked(workflowID)))
  }

  /** States of the object and its children that may not be journaled yet (L2). */
  unflushedStates(owner: Owner): readonly KnownObject[] {
    return [...this.#ledgers.values()]
      .flatMap(({ news }) => news.flatMap(({ events }) => events))
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

  /**
   * The newest version of a kind, in a namespace or anywhere, that runs have written and that may not be journaled yet;
   * 0 for none.
   */
  newestVersion(kind: GroupKind, namespace: string | undefined): number {
    const versions = [...this.#ledgers.values()].flatMap(({ news }) =>
      news.flatMap(({ events }) =>
        events
          .filter(({ event }) => isSameGroupKind(event, kind) && (namespace ?? event.namespace) === event.namespace)
          .map(({ event }) => event.resourceVersion),
      ),
    )
    return Math.max(0, ...versions)
  }

  /** Whether the run has created the object and the journal may not contain it yet. */
  hasCreated(workflowID: string, uid: string): boolean {
    const news = this.#ledgers.get(workflowID)?.news ?? []
    return news.some(({ events }) =>
      events.some(({ event, origin }) => event.uid === uid && event.type === 'ADDED' && !origin.conflicted),
    )
  }

  async #flushOnce(workflowID: string, ledger: WriteBuffer): Promise<void> {
    const { news } = ledger
    const taken = news.length
    await this.#deps.write(news.slice(0, taken))
    news.splice(0, taken)
    clearTimeout(ledger.timer)
    ledger.timer = news.length > 0 ? this.#flushIn(FLUSH_MS, workflowID) : undefined
    if (news.length === 0) this.#ledgers.delete(workflowID)
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
