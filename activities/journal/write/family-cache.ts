// Caches objects and their children for a run's pass, so that later steps of the pass need not query the journal again.
//
//   M1. The start of a pass clears the run's entries: the pass must see all earlier changes (in-flight-runs.ts). Later
//       changes wake the run again.
//   M2. The run's own later writes are added to the cached entries; when they are journaled (write-buffer.ts), the
//       entries are too old and are cleared.
//   M3. An object that the run has created in this pass has only children that the run has created; other children
//       would arrive as changes (M1).

import type { By, Owner } from '../../../workflows/kit/index.ts'
import type { KnownFamily } from '../read/known-objects.ts'

const MOST_RUNS = 1000

/** Identifies a pass. */
export type PassRef = Pick<By, 'workflowID' | 'runID' | 'pass'>

interface PassMemory {
  readonly pass: string
  readonly byUid: Map<string, KnownFamily>
}

export class FamilyCache {
  readonly #ask: (owner: Owner) => Promise<KnownFamily>
  /** By workflow ID. */
  readonly #runs = new Map<string, PassMemory>()

  /**
   * @param ask reads the journal.
   */
  constructor(ask: (owner: Owner) => Promise<KnownFamily>) {
    this.#ask = ask
  }

  /** Starts a pass (M1). */
  startPass(by: PassRef): void {
    if (this.#runs.size >= MOST_RUNS) this.#runs.clear()
    this.#runs.set(by.workflowID, { pass: passOf(by), byUid: new Map() })
  }

  /** M2 */
  forget(workflowID: string): void {
    this.#runs.delete(workflowID)
  }

  /**
   * Returns an object with its children.
   *
   * @param by undefined: ignores the cache, as for a pass that began in another process.
   * @param isNew the run has created the object since its last flush.
   */
  async get(owner: Owner, by: PassRef | undefined, isNew: () => boolean): Promise<KnownFamily> {
    // A pass that starts in the same tick must clear the entries first.
    await Promise.resolve()
    const memory = by === undefined ? undefined : this.#runs.get(by.workflowID)
    if (by === undefined || memory?.pass !== passOf(by)) return await this.#ask(owner)
    const { byUid } = memory
    const { uid } = owner
    const [remembered] = byUid.values()
    const known =
      byUid.get(uid) ?? (remembered !== undefined && isNew() ? { ...remembered, ...NO_RELATIVES } : undefined)
    const family = known ?? (await this.#ask(owner))
    byUid.set(uid, family)
    return family
  }
}

function passOf({ runID, pass }: PassRef): string {
  return `${runID} ${pass}`
}

const NO_RELATIVES = { self: undefined, children: [] } as const
