import { describe as subject, expect, it } from 'vitest'

import { action, always, describe, done, join, sequential, toMermaid, when } from '../../../workflows/kit/index.ts'

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

  it('escapes what would end a label', () => {
    expect(toMermaid(step('say "hi" #1 <b>'))).toContain('s0["say #quot;hi#quot; #35;1 #lt;b#gt;"]')
  })
})
