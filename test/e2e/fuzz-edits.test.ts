// Tests random histories of edits: after any edits of an Installation and its tree, the next job with a correct spec
// ends like the job of a fresh Installation with the same spec. Source: spec/engine.md 4.3, A2, A4, A5, A7.

import { beforeAll, describe, expect, it } from 'vitest'

import { holds } from '../support/fuzz/course.ts'
import { isLong } from '../support/matrix/form.ts'
import { fresh, plant, PLANTED, played } from '../support/fuzz/edited-installation.ts'
import { type Edit, history } from '../support/fuzz/edits.ts'
import { endState } from '../support/fuzz/end-state.ts'
import { describeSoundness } from '../support/fuzz/soundness.ts'
import { useStage } from '../support/pawl/stage.ts'

const LANES = Array.from({ length: 5 }, (_, lane) => lane)
const LONGEST = isLong ? 20 : 6
const RUNS = isLong ? 30 : 1
const LIMIT_MS = isLong ? 3_600_000 : 240_000

const stage = useStage('fuzz-edits')
beforeAll(() => plant(stage.cluster))

let count = 0

/**
 * Applies the edits to an Installation, creates another one with the resulting spec, and compares their end states.
 *
 * @throws an error that shows the differences.
 */
async function endsAsFresh(edits: readonly Edit[]): Promise<void> {
  const { cluster, pawl } = stage
  const [name, other] = [`edited-${++count}x`, `fresh-${count}x`]
  const { spec, root } = await played(cluster, name, edits)
  const made = await fresh(cluster, other, spec)
  expect(made.status).toMatchObject({ phase: 'Succeeded' })
  expect(root.status, JSON.stringify(root.status)).toMatchObject({ phase: 'Succeeded' })
  await Promise.all([pawl.waitUntilSettled(root), pawl.waitUntilSettled(made)])
  expect(await endState(cluster, name)).toEqual(await endState(cluster, other))
}

describe.concurrent('an installation with any history', () => {
  it.each(LANES)(
    'ends as a fresh one with the same specification (lane %i)',
    async (lane) => {
      const tried = { name: 'edits', values: history(LONGEST), runs: RUNS, lane, isFirst: lane === 0 }
      await holds({ ...tried, limitMs: LIMIT_MS / 10 }, endsAsFresh)
    },
    LIMIT_MS,
  )
})

describeSoundness(stage, PLANTED, LIMIT_MS)
