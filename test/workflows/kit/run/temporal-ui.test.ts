import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { By, Subject } from '../../../../workflows/kit/index.ts'
import {
  piggybackedEventsText,
  LEVEL_SUMMARIES,
  inlineCode,
  codeBlock,
  SETTLE_SUMMARIES,
  summaryLine,
  summaryOf,
} from '../../../../workflows/kit/run/temporal-ui.ts'
import { ANY_UNIT } from '../../../support/fuzz/any-unit.ts'

const subject: Subject = { kind: 'Installation', uid: 'u', namespace: 'ns', name: 'web' }
const by: By = { workflowID: 'w', runID: 'r', pass: 1 }
const named = (...names: readonly string[]) => names.map((name) => ({ uid: name, name }))

describe('the summary of a call', () => {
  it.each([
    ['observeInstallation', 'observe installation web'],
    ['guardSubject', 'guard installation web'],
    ['writeExports', 'write exports of web'],
    ['settle', 'settle web'],
  ])('of %s is: %s', (activity, summary) => {
    expect(summaryOf(activity, { by, subject })).toBe(summary)
  })

  it('omits the name if the workflow ID contains it', () => {
    const titled = { by: { ...by, workflowID: 'installation/ns/web/u/job' } }
    expect(
      ['observeInstallation', 'guardSubject', 'writeExports'].map((name) => summaryOf(name, { ...titled, subject })),
    ).toEqual(['observe installation', 'guard installation', 'write exports'])
    expect(summaryOf('observeThing', { ...titled, subject: { ...subject, kind: 'Thing', name: 'eb' } })).toBe(
      'observe thing eb',
    )
  })

  it('counts and names the items in the input', () => {
    expect(summaryOf('triggerDeployItems', { by, subject, items: named('db', 'cache') })).toBe(
      'trigger 2 items: db, cache',
    )
    expect(summaryOf('sendItems', { by, subject, items: named('db') })).toBe('send 1 item: db')
    expect(summaryOf('interruptExecution', { subject, items: named('db') })).toBe('interrupt execution of web: db')
  })

  it('uses display names of items where they exist', () => {
    expect(summaryOf('collectExports', { subject, items: [{ item: 'db', name: 'web-db-x7' }] })).toBe(
      'collect exports of web: db',
    )
  })

  it('names as many items as fit in a line', () => {
    const items = named(...Array.from({ length: 100 }, (_, index) => `item-${index}`))
    const summary = summaryOf('sendItems', { items })
    expect(summary).toMatch(/^send 100 items: item-0, item-1, .* and \d+ more$/)
    expect(summary.length).toBeLessThan(160)
  })

  it("is the activity's name in words without object and items, or with the text of the caller", () => {
    expect([summaryOf('touchAll', undefined), summaryOf('touchAll', 'text')]).toEqual(['touch all', 'touch all'])
    expect(summaryOf('applyItem', { name: 'web-db-x7' }, 'db')).toBe('apply item db')
  })

  it('contains no Markdown, for any item name', () => {
    expect(summaryOf('sendItems', { items: named('![x](http://a)', '`b`\n#') })).toBe('send 2 items: ?x?http?a?, ?b?')
  })

  it("has one line and at most half of Temporal's limit, for any input", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: ANY_UNIT, maxLength: 500 }),
        fc.array(fc.string({ unit: ANY_UNIT })),
        (name, names) => {
          const line = summaryLine(summaryOf(name, { subject: { ...subject, name }, items: named(...names) }))
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(200)
          expect(line).not.toMatch(/[\n\r]/)
        },
      ),
    )
  })
})

describe('the summary of the end of a pass', () => {
  const input = { ...by, subject, jobID: 'j', cause: 'c', attempt: 0, fault: undefined }
  const settle = (rest: object) =>
    SETTLE_SUMMARIES.settle?.({ ...input, change: undefined, againMs: undefined, ...rest })

  it('contains the written phase and the next due time', () => {
    expect(settle({ change: { phase: 'Succeeded', lastError: undefined } })).toBe('settle: Succeeded')
    expect(settle({ change: { phase: 'Failed', lastError: { reason: 'Timeout' } } })).toBe('settle: Failed, Timeout')
    expect(settle({ againMs: 500 })).toBe('settle: again in 500 ms')
    expect(settle({ againMs: 5000 })).toBe('settle: again in 5 s')
    expect(settle({ againMs: 233_740 })).toBe('settle: again in 3 min 53 s')
    expect(settle({ againMs: 7_200_000 })).toBe('settle: again in 2 h')
    expect(settle({ againMs: 9e15, attempt: 2, fault: { reason: 'Away' } })).toBe('settle: Away, retry 2')
    expect(settle({})).toBe('settle: nothing new')
  })
})

describe('a call in level mode', () => {
  it('contains the object', () => {
    const website = { ...subject, kind: 'Website' }
    const target = { apiVersion: 'example.com/v1', kind: 'Website', plural: 'websites' }
    const base = { by, subject: website, target }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'page' } }
    expect(LEVEL_SUMMARIES.observeLevel?.({ ...base, queries: {} })).toBe('observe Website web')
    expect(LEVEL_SUMMARIES.applyLevel?.({ ...base, resource: target, object })).toBe('apply ConfigMap page')
    expect(LEVEL_SUMMARIES.writeLevelStatus?.({ ...base, version: '1', status: { a: 1, b: 2 } })).toBe(
      'write status of Website web: a, b',
    )
    expect(LEVEL_SUMMARIES.settleLevel?.({ ...base, againMs: undefined, attempt: 0, fault: undefined })).toBe(
      'settle: waits',
    )
  })

  it('names the piggybacked events', () => {
    const told = ['Created', 'Disrupted by'].map((reason) => ({ event: { type: 'Normal', reason, message: 'm' } }))
    expect([{ told }, {}, undefined].map(piggybackedEventsText)).toEqual(['; emits Created, Disrupted?by', '', ''])
  })
})

const FENCE = '`'.repeat(6)

describe('an error in Markdown', () => {
  it('is one line of code', () => {
    expect(inlineCode('template: <.a> is\n "*nil*"', 100)).toBe('`template: <.a> is "*nil*"`')
    expect(inlineCode('a `b` c', 100)).toBe("`a 'b' c`")
    expect(inlineCode('abcdef', 3)).toBe('`abc...`')
    expect(inlineCode(' ', 3)).toBe('')
  })

  it('keeps its lines if it has several', () => {
    expect(codeBlock('one line', 100)).toBe(' `one line`')
    expect(codeBlock('a\n> b\n``````\nc', 100)).toBe(`\n\n${FENCE}\na\n> b\n${"'".repeat(6)}\nc\n${FENCE}`)
  })
})
