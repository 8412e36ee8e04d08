// Events that go along with the next call of their pass, or with its end: a call of their own costs as much as a write.
//
//   A1. They are told before what they go along with is done, in their order.
//   A2. None is left over: what no call took is told when the pass is settled, or the run ends.

import type { LevelTold } from '../level-activities.ts'

/** What waits for the next call of a run. */
export interface Along {
  readonly note: (told: LevelTold) => void
  /** As a call's input has it. */
  readonly take: () => { readonly told?: readonly LevelTold[] }
}

export function createAlong(): Along {
  let noted: readonly LevelTold[] = []
  return {
    note: (told) => {
      noted = [...noted, told]
    },
    take: () => {
      const told = noted
      noted = []
      return told.length === 0 ? {} : { told }
    },
  }
}
