import { describe, expect, it } from 'vitest'

import { unsatisfied } from '../../../../../../activities/landscaper/deploy/objects/readiness/custom-checks.ts'
import { readReadinessConfig } from '../../../../../../activities/landscaper/deploy/objects/readiness/readiness-config.ts'

function read(value: unknown) {
  const mistakes: string[] = []
  return { config: readReadinessConfig(value, 'f', mistakes), mistakes }
}

const REFERENCE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', namespace: 'n' }
const REQUIREMENT = { jsonPath: '.a', operator: 'exists' }
const CHECK = { name: 'one', resourceSelector: [REFERENCE], requirements: [REQUIREMENT] }
const check = (change: object) => ({ custom: [{ ...CHECK, ...change }] })
const labels = (matchLabels: object) => ({ labelSelector: { ...REFERENCE, matchLabels } })

describe('readiness checks of a configuration', () => {
  it('are the default ones unless there are any', () => {
    expect(read(undefined)).toEqual({ config: { disableDefault: false, custom: [] }, mistakes: [] })
    expect(read({ disableDefault: true })).toMatchObject({ config: { disableDefault: true }, mistakes: [] })
  })

  it('are read unchanged, without disabled ones', () => {
    const labelSelector = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      matchLabels: { 'example.org/a': 'b', empty: '' },
    }
    const custom = [
      { ...CHECK, timeout: '3m', targetName: 'other', labelSelector },
      { ...CHECK, name: 'two', disabled: true },
    ]
    const { config, mistakes } = read({ custom })
    expect(mistakes).toEqual([])
    expect(config.custom).toMatchObject([
      {
        name: 'one',
        resources: [REFERENCE],
        labels: labelSelector,
        requirements: [{ pathText: '.a', operator: 'exists' }],
        targetName: 'other',
      },
    ])
  })

  it.each<[string, unknown, string]>([
    ['no map', ['canary'], 'f: found a list; expected a map'],
    [
      'a flag that is none',
      { disableDefault: 'canary' },
      'f.disableDefault: found another text; expected true or false',
    ],
    ['no list', { custom: 'canary' }, 'f.custom: found another text; expected a list'],
    ['a check that is none', { custom: ['canary'] }, 'f.custom[0]: found another text; expected a map'],
    [
      'a name twice',
      { custom: [CHECK, CHECK] },
      'f.custom[1].name: found the name of an earlier check; expected a unique name',
    ],
  ])('with %s are refused without the value', (_, value, mistake) => {
    expect(read(value).mistakes).toEqual([mistake])
  })

  it.each<[string, object, string]>([
    ['name', { name: undefined }, '.name: found nothing; expected a text'],
    [
      'selector',
      { resourceSelector: [] },
      ': found neither resourceSelector nor labelSelector; expected at least one of them',
    ],
    [
      'kind',
      { resourceSelector: [{ ...REFERENCE, kind: '' }] },
      '.resourceSelector[0].kind: found an empty text; expected a text',
    ],
    ['labels', labels({}), '.labelSelector.matchLabels: found an empty map; expected at least one label'],
    [
      'only label of the selector',
      labels({ a: 'b,canary=c' }),
      '.labelSelector.matchLabels[a]: found another text; expected a label and its value',
    ],
    ['requirements', { requirements: undefined }, '.requirements: found nothing; expected at least one requirement'],
  ])('are refused, without the value, when a check has no %s', (_, change, mistake) => {
    expect(read(check(change)).mistakes).toEqual([`f.custom[0]${mistake}`])
  })

  it.each<[object, string]>([
    [
      { jsonPath: '.canary[', operator: '!' },
      'jsonPath: found not a JSON path; expected one such as .status.phase or .items[?(@.name=="a")].value',
    ],
    [{ operator: 'canary' }, 'operator: found another text; expected one of =, !, exists, ==, !=, in, notin'],
    [
      { operator: '=', values: [{ value: 1 }, { value: 2 }] },
      'values: found 2 values; expected exactly 1 for operator "=="',
    ],
    [{ operator: 'in' }, 'values: found 0 values; expected at least 1 for operator "in"'],
    [
      { operator: 'in', values: [{ value: 1 }, 'canary'] },
      'values[1]: found another text; expected a map with the field "value"',
    ],
    [{ operator: '==', values: [{ canary: 1 }] }, 'values[0].value: found nothing; expected any value'],
  ])('are refused, without the value, when a requirement is %j', (requirement, mistake) => {
    const { mistakes } = read(check({ requirements: [{ jsonPath: '.a', ...requirement }] }))
    expect(mistakes).toEqual([`f.custom[0].requirements[0].${mistake}`])
  })

  it('are rejected with all mistakes in one error', () => {
    const custom = [{ requirements: [{}] }, 7]
    expect(read({ disableDefault: 1, custom }).mistakes).toHaveLength(6)
  })
})

describe('a requirement', () => {
  const OBJECT = {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'x' },
    a: 1,
    b: { c: [1, { d: null }] },
    list: [{ v: 'yes' }, { v: 'yes' }, { v: 'no' }],
    zero: null,
  }
  const lack = (jsonPath: string, operator: string, ...values: unknown[]) => {
    const requirements = [{ jsonPath, operator, values: values.map((value) => ({ value })) }]
    const { config, mistakes } = read(check({ requirements }))
    expect(mistakes).toEqual([])
    return unsatisfied(OBJECT, config.custom[0]!.requirements)
  }

  it.each<[string, string, unknown[]]>([
    ['a', 'exists', []],
    ['zero', 'exists', []],
    ['gone', '!', []],
    ['a', '=', [1.0]],
    ['a', '==', [1]],
    ['zero', '==', [null]],
    ['b', '==', [{ c: [1, { d: null }] }]],
    ['a', '!=', ['1']],
    ['a', 'in', [2, 1]],
    ['a', 'notin', [2, '1']],
    ['list[*].v', 'in', ['yes', 'no']],
    ['list[0:2].v', '==', ['yes']],
    ['list[*].v', '!=', ['maybe']],
  ])('%s %s %j holds', (path, operator, values) => {
    expect(lack(path, operator, ...values)).toBeUndefined()
  })

  it.each<[string, string, unknown[], string]>([
    ['a', '!', [], 'a has a value; expected none'],
    ['zero', '!', [], 'zero has a value; expected none'],
    ['gone', 'exists', [], 'gone has no value'],
    ['gone', '!=', [1], 'gone has no value'],
    ['gone', 'notin', [1], 'gone has no value'],
    ['a', '==', ['1'], 'a does not satisfy operator "=="'],
    ['a', '==', [true], 'a does not satisfy operator "=="'],
    ['b', '==', [{ c: [1, {}] }], 'b does not satisfy operator "=="'],
    ['list[*].v', '==', ['yes'], 'list[*].v does not satisfy operator "=="'],
    ['list[*].v', 'notin', ['no'], 'list[*].v does not satisfy operator "notin"'],
  ])('%s %s %j does not hold', (path, operator, values, expected) => {
    expect(lack(path, operator, ...values)).toBe(expected)
  })
})
