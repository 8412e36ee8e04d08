import { describe, expect, it } from 'vitest'

import { changesBetween, requesterIn } from '../../../../worker/cli/query/versions.ts'
import { hasLabels, labelsOf } from '../../../../worker/cli/query/get.ts'
import { timeOf } from '../../../../worker/cli/query/history.ts'
import { namespaceIn } from '../../../../worker/cli/kubeconfig.ts'
import { queryableKinds, objectNamed } from '../../../../worker/cli/query/object-name.ts'
import {
  errorLines,
  tableText,
  ansiPaint,
  formatDuration,
  formatTime,
  errorText,
  plainPaint,
  singleLine,
} from '../../../../worker/cli/query/format.ts'

describe('a duration', () => {
  it.each([
    [-5, '0ms'],
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1.0s'],
    [9_999, '9.9s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [185_000, '3m5s'],
    [3_600_000, '1h'],
    [7_980_000, '2h13m'],
    [90_000_000, '1d1h'],
  ])('of %d ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})

describe('a time', () => {
  it('is local, and has a date if it is 12 hours away', () => {
    const at = new Date(2026, 1, 3, 4, 5, 6)
    expect(formatTime(at, new Date(2026, 1, 3, 16, 5, 5))).toBe('04:05:06')
    expect(formatTime(at, new Date(2026, 1, 3, 16, 5, 6))).toBe('2026-02-03 04:05:06')
  })
})

describe('a text of another program', () => {
  it('is printed on one line without control characters, and truncated', () => {
    expect(singleLine('a\x1b[31mb\nc\u202ed')).toBe('a [31mb c d')
    expect(singleLine('x'.repeat(20), 5)).toBe('xxxxx...')
  })

  it.each([
    [null, undefined],
    [{}, undefined],
    [{ message: 'no such image' }, 'no such image'],
    [{ reason: 'Apply', message: 'no such\nimage' }, 'Apply: no such image'],
    [{ message: 7 }, undefined],
  ])('in the error %j is %s', (error, text) => {
    expect(errorText(error)).toBe(text)
  })
})

describe('changes between versions', () => {
  it('have one line per field, without the fields that identify the object', () => {
    const before = { metadata: { name: 'a', annotations: { 'x.y/z': 'on' } }, status: { phase: 'Init', jobID: '1' } }
    const after = { metadata: { name: 'a', generation: 2 }, status: { phase: 'Progressing', jobID: '1' } }
    expect(changesBetween(before, after)).toEqual([
      'metadata.annotations."x.y/z": on -> (gone)',
      'metadata.generation: 2',
      'status.phase: Init -> Progressing',
    ])
    expect(changesBetween(undefined, before)).toContain('status.jobID: 1')
    expect(changesBetween(before, before)).toEqual([])
  })

  it('show each condition with status, reason and message, and the whole message of a bug', () => {
    const ready = (status: string, reason: string, message = '', lastTransitionTime = 'then') => ({
      status: { conditions: [{ type: 'Ready', status, reason, message, lastTransitionTime }] },
    })
    const bug = `${'x'.repeat(500)} (site/apply.ts:14:49)`
    const rolling = ready('False', 'RollingOut', '1 of 2')
    expect(changesBetween(rolling, ready('True', 'RolledOut', '1 of 2', 'now'))).toEqual([
      'status.conditions.Ready: False RollingOut -> True RolledOut',
    ])
    expect(changesBetween(rolling, ready('False', 'RollingOut', '2 of 2'))).toEqual([
      'status.conditions.Ready.message: 1 of 2 -> 2 of 2',
    ])
    expect(changesBetween(ready('True', 'RolledOut'), ready('False', 'Bug', bug))).toEqual([
      'status.conditions.Ready: True RolledOut -> False Bug',
      `status.conditions.Ready.message: ${bug}`,
    ])
    expect(changesBetween({ status: { conditions: [] } }, rolling)[0]).toBe('status.conditions: [] -> (gone)')
  })
})

describe('the writer of a version', () => {
  const reason = (value: string) => `metadata.annotations."landscaper.gardener.cloud/reconcile-reason": ${value}`
  const interrupt = 'metadata.annotations."landscaper.gardener.cloud/operation": reconcile -> interrupt'
  it.each([
    [reason('by system:admin: new certificate'), {}, 'pawl, for system:admin (not verified)'],
    [reason('by ann: a -> by bob'), {}, 'pawl, for bob (not verified)'],
    [reason('by bob'), { writer: 'run/x' }, undefined],
    [reason('retry'), {}, undefined],
    [interrupt, { manager: 'pawl-cli' }, 'a user with pawl interrupt'],
    [interrupt, { manager: 'kubectl-annotate' }, undefined],
  ])('with %j by %j is %s', (change, by, client) => {
    expect(requesterIn({ writer: null, manager: null, ...by }, ['metadata.generation: 2', change])).toBe(client)
  })
})

describe('a table', () => {
  it('has columns as wide as their widest cell, also with colours', () => {
    const rows = [
      ['a', { text: 'Failed', colour: 'red' }, 'x'],
      ['longer', { text: 'Ok', colour: 'green' }, ''],
    ] as const
    expect(tableText(['NAME', 'PHASE', 'WHY'], rows, plainPaint)).toBe(
      'NAME     PHASE    WHY\na        Failed   x\nlonger   Ok\n',
    )
    expect(tableText(['NAME', 'PHASE', 'WHY'], rows, ansiPaint)).toContain('\x1b[31mFailed\x1b[0m   x')
  })
})

describe('the name of an object', () => {
  const installation = { group: 'landscaper.gardener.cloud', kind: 'Installation' }
  const names = { apiVersion: 'landscaper.gardener.cloud/v1alpha1', plural: 'installations', singular: 'installation' }
  const kinds = queryableKinds(
    [{ ...installation, ...names, shortNames: ['inst'] }],
    [installation, { group: 'example.com', kind: 'Widget' }, { group: 'other.com', kind: 'Widget' }],
  )

  it.each([
    [['inst/shop'], 'Installation', 'shop'],
    [['Installation', 'shop'], 'Installation', 'shop'],
    [['installations.landscaper.gardener.cloud/shop'], 'Installation', 'shop'],
    [['widget.other.com/one'], 'Widget', 'one'],
  ])('may be %j', (words, kind, name) => {
    expect(objectNamed(words, kinds)).toMatchObject({ kind: { kind }, name })
  })

  it.each([
    [['shop'], 'object "shop" is invalid; expected kind/name or kind name, such as inst/shop'],
    [['inst/'], 'object "inst/" is invalid'],
    [['a', 'b', 'c'], 'object "a b c" is invalid'],
    [['pod/x'], 'kind "pod" does not exist; expected Installation, Widget'],
    [['instalation/x'], 'kind "instalation" does not exist; did you mean "Installation"?'],
    [['ins/x'], 'kind "ins" does not exist; did you mean "Installation"?'],
    [['widget/x'], 'kind "widget" is the name of 2 kinds; expected Widget.example.com or Widget.other.com'],
  ])('may not be %j', (words, message) => {
    expect(() => objectNamed(words, kinds)).toThrow(message)
  })
})

describe('the namespace', () => {
  const file = {
    'current-context': 'b',
    contexts: [{ name: 'a', context: { namespace: 'team-a' } }, { name: 'b', context: {} }, { name: 'c' }],
  }

  it.each([
    [[], undefined, 'default'],
    [[null, 'x', {}], undefined, 'default'],
    [[file], undefined, 'default'],
    [[file], 'a', 'team-a'],
    [[{ 'current-context': 'a' }, file], undefined, 'team-a'],
  ])('in %j with --context %s is %s', (files, context, namespace) => {
    expect(namespaceIn(files, context)).toBe(namespace)
  })

  it('of an unknown context is an error', () => {
    expect(() => namespaceIn([file], 'd')).toThrow('context "d" does not exist in the kubeconfig; expected a, b, c')
  })
})

describe('an error with several lines', () => {
  const message = [
    'template: items:2: function "x" not defined',
    'items:',
    '  1 | deployItems:',
    '> 2 |   type: {{ x\t}}',
    'input: {}',
    '',
  ].join('\n')

  it('is one line without the excerpt of the template', () => {
    expect(errorText({ reason: 'TemplatingFailed', message })).toBe(
      'TemplatingFailed: template: items:2: function "x" not defined',
    )
    const spiff = 'template "items": unresolved nodes:\n\t(( a ))\tin template\tb\ninput: {}'
    expect(errorText({ message: spiff })).toBe('template "items": unresolved nodes: (( a )) in template b')
  })

  it('keeps its lines and their indentation, without control characters', () => {
    expect(errorLines(`${message}\u001b[31m`)).toEqual([
      'template: items:2: function "x" not defined',
      'items:',
      '  1 | deployItems:',
      '> 2 |   type: {{ x  }}',
      'input: {}',
      '[31m',
    ])
    expect(errorLines('one line\n')).toEqual([])
    expect(errorLines(undefined)).toEqual([])
  })
})

describe('the flag', () => {
  const now = new Date('2026-02-03T04:05:06Z')

  it.each([
    ['15m', '2026-02-03T03:50:06.000Z'],
    ['-1h', '2026-02-03T03:05:06.000Z'],
    ['2026-02-01T00:00:00Z', '2026-02-01T00:00:00.000Z'],
  ])('--at %s is %s', (text, at) => {
    expect(timeOf(text, now).toISOString()).toBe(at)
  })

  it('with an invalid time or label is refused', () => {
    expect(() => timeOf('yesterday', now)).toThrow('--at: "yesterday" is not a time; expected one such as')
    expect(() => labelsOf('a=b,c')).toThrow("--selector has 'c', expected label=value")
  })

  it('--selector selects objects by stored labels', () => {
    const object = { projection: { metadata: { labels: { a: 'b', c: '' } } } }
    expect(hasLabels(object, labelsOf('a=b,c='))).toBe(true)
    expect(hasLabels(object, labelsOf('a==c'))).toBe(false)
    expect(hasLabels(object, labelsOf(undefined))).toBe(true)
  })
})
