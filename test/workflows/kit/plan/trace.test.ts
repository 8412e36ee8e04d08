import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  always,
  describeTrace,
  done,
  fail,
  join,
  lastAction,
  nop,
  orElse,
  recordSteps,
  runStep,
  sequential,
  type Step,
  stop,
  traceToMermaid,
  when,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from './fake-runtime.ts'

const never = () => false
const ok = action('ok', () => done)
const plan = sequential(
  orElse(
    action('first', () => fail('Broken', 'it is <broken>')),
    ok,
  ),
  when(never, nop),
  action('last', () => stop('enough')),
  action('after', () => done),
)

async function recorded(step: Step<unknown>) {
  const recorder = recordSteps(step)
  await runStep(step, undefined, fakeRuntime(), recorder.hooks).catch(() => undefined)
  return recorder.trace()
}

describe('the record of a plan that ran', () => {
  it('contains for each step whether it ran, and its outcome', async () => {
    expect(describeTrace(await recorded(plan)).split('\n')).toEqual([
      '✓ sequential: stops: enough',
      '├─ ✓ orElse',
      '│  ├─ ✗ first: Broken: it is <broken> (final)',
      '│  └─ ✓ ok',
      '├─ ✓ when never',
      '│  └─ – nop',
      '├─ ✓ last: stops: enough',
      '└─ – after',
    ])
  })

  it('contains a last action as the drawn step', async () => {
    const report = lastAction('report', (_, { faults }) => (faults.length > 0 ? stop('told') : done))
    const failing = always(
      action('body', () => fail('Broken', 'no')),
      report,
    )
    expect(
      describeTrace(await recorded(failing))
        .split('\n')
        .slice(1),
    ).toEqual(['├─ ✗ body: Broken: no (final)', '└─ ✓ report: stops: told'])
  })

  it('has rounded delays, or exact ones', async () => {
    const trace = await recorded(action('later', () => again(2_901_326_024)))
    expect(describeTrace(trace)).toBe('✓ later: again in 33 d 13 h')
    expect(describeTrace(trace, { isExact: true })).toBe('✓ later: again in 2901326024 ms')
  })

  it('is plain data', async () => {
    const trace = await recorded(plan)
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace)
  })

  it('contains an error, up to the step that threw it', async () => {
    const bug = action('bug', () => {
      throw new Error('mine')
    })
    expect(describeTrace(await recorded(join(bug, ok))).split('\n')).toEqual([
      '✗ join: threw Error: mine',
      '├─ ✗ bug: threw Error: mine',
      '└─ – ok',
    ])
  })

  it('is a flowchart with a class for each step', async () => {
    const chart = traceToMermaid(
      await recorded(
        sequential(
          action('begin', () => done),
          plan,
        ),
      ),
    )
    expect(chart.split('\n').slice(0, 4)).toEqual([
      ...['flowchart TD', '  s0("✓ sequential: stops: enough")', '  s1["✓ begin"]', '  s0 --> s1'],
    ])
    expect(chart).toContain('s4["✗ first: Broken: it is #lt;broken#gt; (final)"]')
    expect(chart).toContain('class s4 wrong')
    expect(chart).toContain('class s1 ran')
    expect(chart.split('\n').at(-1)).toBe('  class s9 skipped')
  })
})
