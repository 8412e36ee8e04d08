import fc from 'fast-check'
import { describe as subject, expect, it } from 'vitest'

import {
  action,
  always,
  describe,
  done,
  type DrawnStep,
  join,
  phasesToMermaid,
  sequential,
  toJson,
  toMermaid,
  when,
} from '../../../../workflows/kit/index.ts'

const step = (name: string) => action(name, () => done)
const isReady = () => true
const plan = always(sequential(step('init'), join(step('trigger'), when(isReady, step('export')))), step('settle'))

subject('a plan in words', () => {
  it('is a tree with one step a line', () => {
    expect(describe(plan).split('\n')).toEqual([
      'always',
      '├─ sequential',
      '│  ├─ init',
      '│  └─ join',
      '│     ├─ trigger',
      '│     └─ when isReady',
      '│        └─ export',
      '└─ settle',
    ])
  })
})

subject('a plan as a flowchart', () => {
  it('draws groups rounded and actions as boxes', () => {
    expect(toMermaid(join(step('a'), step('b')))).toBe(
      ['flowchart TD', '  s0("join")', '  s1["a"]', '  s0 --> s1', '  s2["b"]', '  s0 --> s2'].join('\n'),
    )
  })

  it('escapes characters that would end a label', () => {
    expect(toMermaid(step('say "hi" #1 <b>'))).toContain('s0["say #quot;hi#quot; #35;1 #lt;b#gt;"]')
  })
})

subject('a plan as data', () => {
  const { plan: plans } = fc.letrec<{ plan: DrawnStep; leaf: DrawnStep; group: DrawnStep }>((tie) => ({
    plan: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('group')),
    leaf: fc.record({ name: fc.string(), children: fc.constant([]) }),
    group: fc.record({ name: fc.string(), children: fc.array(tie('plan'), { maxLength: 3 }) }),
  }))

  it('contains the names and children of every step and nothing else, also after JSON serialization', () => {
    expect(toJson(sequential(step('init'), join(step('settle'))))).toEqual({
      name: 'sequential',
      children: [
        { name: 'init', children: [] },
        { name: 'join', children: [{ name: 'settle', children: [] }] },
      ],
    })
    fc.assert(
      fc.property(plans, (drawn) => {
        expect(JSON.parse(JSON.stringify(toJson(drawn)))).toEqual(drawn)
      }),
    )
  })

  it('draws the same as the plan itself', () => {
    fc.assert(
      fc.property(plans, (drawn) => {
        expect(describe(toJson(drawn))).toBe(describe(drawn))
      }),
    )
    expect(toMermaid(toJson(plan))).toBe(toMermaid(plan))
  })
})

subject('the phases of a job as a flowchart', () => {
  it('are frames with thick arrows to the next phase and dotted ones to the failed one', () => {
    const phases = {
      Init: { step: join(step('a')), next: 'Work' },
      Work: { step: step('b'), next: 'Done' },
      Gone: { step: step('c'), next: 'Gone' },
    }
    expect(phasesToMermaid({ phases, finalPhases: ['Done', 'Bad'], failed: () => 'Bad' }).split('\n')).toEqual([
      'flowchart TD',
      '  subgraph p0["Init"]',
      '    p0s0("join")',
      '    p0s1["a"]',
      '    p0s0 --> p0s1',
      '  end',
      '  subgraph p1["Work"]',
      '    p1s0["b"]',
      '  end',
      '  subgraph p2["Gone"]',
      '    p2s0["c"]',
      '  end',
      '  p3(["Done"])',
      '  p4(["Bad"])',
      '  p0 ==> p1',
      '  p0 -.-> p4',
      '  p1 ==> p3',
      '  p1 -.-> p4',
      '  p2 -.-> p4',
    ])
  })

  it('have a frame for the step before the end of a job', () => {
    const phases = { Work: { step: step('a'), next: 'Done' } }
    const ending = step('tell')
    expect(phasesToMermaid({ phases, finalPhases: ['Done'], ending, failed: () => 'Done' }).split('\n')).toEqual([
      'flowchart TD',
      '  subgraph p0["Work"]',
      '    p0s0["a"]',
      '  end',
      '  subgraph e["before any end"]',
      '    es0["tell"]',
      '  end',
      '  p1(["Done"])',
      '  p0 ==> p1',
      '  p0 -.-> p1',
    ])
  })
})
