// Copies of imports in the scope of their Installation: names, labels, and values without a copy.

import { describe, expect, it } from 'vitest'
import { importCopies } from '../../../../activities/landscaper/installation/import-copies.ts'
import { dataObjectName } from '../../../../activities/landscaper/render/names.ts'

const SUBJECT = { kind: 'Installation', uid: 'u', namespace: 'n', name: 'root' }
const PREFIX = 'data.landscaper.gardener.cloud'
const target = (name: string) => ({ metadata: { name, namespace: 'n' }, spec: { type: 't', config: name } })
const copies = (imports: Parameters<typeof importCopies>[2]) => importCopies(SUBJECT, 'job', imports)
const named = (name: string) => dataObjectName('Inst.root', name)

describe('the copies of imports', () => {
  it('are named and labelled by scope and import', () => {
    const [data, targets] = copies({ data: { size: { cpu: 1 } }, targetObjects: { one: { target: target('x') } } })
    const labels = (key: string) => ({
      [`${PREFIX}/context`]: 'Inst.root',
      [`${PREFIX}/source`]: 'Inst.root',
      [`${PREFIX}/sourceType`]: 'import',
      [`${PREFIX}/key`]: key,
      [`${PREFIX}/jobid`]: 'job',
    })
    expect(data?.objects).toEqual([{ name: named('size'), labels: labels('size'), content: { data: { cpu: 1 } } }])
    expect(targets?.objects).toEqual([
      { name: named('one'), labels: labels('one'), content: { spec: { type: 't', config: 'x' } } },
    ])
  })

  it('exist once for each element of a list or map of Targets', () => {
    const [, targets] = copies({
      data: {},
      targetObjects: { list: { list: [target('a'), target('b')] }, map: { map: { dev: target('c') } } },
    })
    expect(
      targets?.objects.map(({ name, labels }) => [name, labels[`${PREFIX}/index`], labels[`${PREFIX}/targetmapkey`]]),
    ).toEqual([
      [named('list[0]'), '0', undefined],
      [named('list[1]'), '1', undefined],
      [named('map[dev]'), undefined, 'dev'],
    ])
  })

  it('do not exist for null values, but exist for false, 0 and the empty text', () => {
    const [data] = copies({ data: { nothing: null, no: false, zero: 0, text: '' }, targetObjects: {} })
    expect(data?.objects.map(({ content }) => content)).toEqual([{ data: false }, { data: 0 }, { data: '' }])
  })

  it('never have a name outside the scope', () => {
    const refused = expect.objectContaining({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true }) as Error
    expect(() => copies({ data: { '#theirs': 1 }, targetObjects: {} })).toThrow(refused)
    expect(() => copies({ data: {}, targetObjects: { '#theirs': { list: [] } } })).toThrow(refused)
  })
})
