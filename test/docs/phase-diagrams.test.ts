// The diagram on the page of a controller says of phases what its plan says. How long the pages may be: links.test.ts.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findPlans } from '../../worker/plans/find-plans.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { readKindFolders } from '../../worker/server/kind-folders.ts'
import type { DeployItemPhase } from '../../workflows/landscaper/deploy-item/kind.ts'
import type { JobPlan } from '../../workflows/kit/index.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const plans = await findPlans(builtInRegistry)
const folders = await readKindFolders(ROOT)
const jobPlans = plans.flatMap(({ kind, phases }) => (phases === undefined ? [] : [[kind.kind, phases] as const]))

/** Where a job begins, and where its object is gone. */
const OUTSIDE = '[*]'

interface Arrow {
  readonly from: string
  readonly to: string
}

async function arrowsOf(kind: string): Promise<readonly Arrow[]> {
  const folder = folders.find(({ kinds }) => kinds.some((one) => one.kind === kind))?.folder ?? ''
  const page = await readFile(`${ROOT}/workflows/${folder}/README.md`, 'utf8')
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(page) ?? []
  return diagram
    .trim()
    .split('\n')
    .map((line) => {
      const [, from = '', to = ''] = /^ *(\S+) --> ([^\s:]+)(?:: .+)?$/.exec(line) ?? []
      if (from === '') throw new Error(`${folder}/README.md: "${line}" is no arrow; expected FROM --> TO: why`)
      return { from, to }
    })
}

const inDiagram = (arrows: readonly Arrow[]) => new Set(arrows.flatMap(({ from, to }) => [from, to]))
const text = ({ from, to }: Arrow) => `${from} --> ${to}`

/** The transitions that a plan allows: to the next phase, to the same phase, to failure, and the end of the object after its last phase. */
function allowed({ phases, finalPhases, first, failed }: JobPlan<never>): ReadonlySet<string> {
  const begins = [true, false].map((deleting) => ({ from: OUTSIDE, to: first(deleting) }))
  const goesOn = Object.entries(phases).flatMap(([from, { next }]) =>
    [next, from, failed(from)].map((to) => ({ from, to: to === from && next === from ? OUTSIDE : to })),
  )
  const stays = Object.keys(phases).map((phase) => ({ from: phase, to: phase }))
  expect(finalPhases.filter((phase) => phase in phases)).toEqual([])
  return new Set([...begins, ...goesOn, ...stays].map(text))
}

/** The transitions that a diagram must show: the starts and the successful path. */
function needed({ phases, first }: JobPlan<never>): string[] {
  const begins = [false, true].map((deleting) => ({ from: OUTSIDE, to: first(deleting) }))
  const goesWell = Object.entries(phases).map(([from, { next }]) => ({ from, to: next === from ? OUTSIDE : next }))
  return [...begins, ...goesWell].map(text)
}

describe.each(jobPlans)('the diagram of the phases of %s', (kind, plan) => {
  it('has the phases of the plan, and no others', async () => {
    const expected = [OUTSIDE, ...Object.keys(plan.phases), ...plan.finalPhases]
    expect([...inDiagram(await arrowsOf(kind))].toSorted()).toEqual(expected.toSorted())
  })

  it('has the ways of the plan, and none that it does not allow', async () => {
    const arrows = (await arrowsOf(kind)).map(text)
    expect(arrows.filter((arrow) => !allowed(plan).has(arrow))).toEqual([])
    expect(needed(plan).filter((arrow) => !arrows.includes(arrow))).toEqual([])
  })
})

describe('the diagrams', () => {
  it('are compared for more than one controller', () => {
    expect(jobPlans.length).toBeGreaterThan(1)
  })

  // The plan of an item's run has no phases; they are the item's own, and no deployer of Pawl's uses Completing.
  it('have the phases of a deploy item', async () => {
    const phases: Readonly<Record<Exclude<DeployItemPhase, 'Completing'>, true>> = {
      Init: true,
      Progressing: true,
      Succeeded: true,
      Failed: true,
      InitDelete: true,
      Deleting: true,
      DeleteFailed: true,
    }
    expect([...inDiagram(await arrowsOf('DeployItem'))].toSorted()).toEqual(
      [OUTSIDE, ...Object.keys(phases)].toSorted(),
    )
  })
})
