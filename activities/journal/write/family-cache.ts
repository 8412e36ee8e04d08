// What a run's pass has been told of objects and their children, so that its later steps need not ask the journal again.
//
//   M1. A look forgets: what came before it, it has to see (in-flight-runs.ts). What comes after it is noted, and the next pass looks.
//   M2. What the run has written since is laid over it; once that is in the journal (ledger.ts) what was remembered is too old, and forgotten.
//   M3. An object that the run has made itself since its look has no other children than those that it has made: others would be news (M1).

import type { By, Owner } from '../../../workflows/kit/index.ts'
import type { KnownFamily } from '../read/known-objects.ts'

const MOST_RUNS = 1000

/** Whose pass asks. */
export type PassRef = Pick<By, 'workflowID' | 'runID' | 'pass'>

interface PassMemory {
  readonly pass: string
  readonly byUid: Map<string, KnownFamily>
}

export class FamilyCache {
  readonly #ask: (owner: Owner) => Promise<KnownFamily>
  /** By workflow ID. */
  readonly #runs = new Map<string, PassMemory>()

  /** @param ask the journal. */
  constructor(ask: (owner: Owner) => Promise<KnownFamily>) {
    this.#ask = ask
  }

  /** A pass begins to look (M1). */
  startPass(by: PassRef): void {
    if (this.#runs.size >= MOST_RUNS) this.#runs.clear()
    this.#runs.set(by.workflowID, { pass: passOf(by), byUid: new Map() })
  }

  /** M2 */
  forget(workflowID: string): void {
    this.#runs.delete(workflowID)
  }

  /**
   * @param by undefined: what was remembered does not count. So it is in a pass that looked in another process.
   * @param isNew the run has made the object since its last flush.
   */
  async get(owner: Owner, by: PassRef | undefined, isNew: () => boolean): Promise<KnownFamily> {
    // A look that begins in the same tick forgets first.
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
