// Tests the validation of spec.imports of an Installation: the accepted sources, and the errors for the others.

import { describe, expect, it } from 'vitest'
import { importSources } from '../../../../activities/landscaper/installation/import-sources.ts'
import type { InstallationSpec } from '../../../../activities/landscaper/installation/spec.ts'
import { dataObjectName } from '../../../../activities/landscaper/render/names.ts'

type Imports = NonNullable<InstallationSpec['imports']>
type DataImport = NonNullable<Imports['data']>[number]
type TargetImport = NonNullable<Imports['targets']>[number]

const sources = (imports: Imports) => importSources({ imports }, '')
const ofData = (one: Partial<DataImport>) => sources({ data: [{ name: 'a', ...one }] })
const ofTargets = (one: Partial<TargetImport>) => sources({ targets: [{ name: 'a', ...one }] })

describe('the imports of a root', () => {
  it('may be absent', () => {
    expect(importSources({}, '')).toEqual({ data: [], targets: [] })
  })

  it('name their objects as they are, or by the hash of what can be no name', () => {
    const objects = ['plain', '#global', 'Not A Name'].map((dataRef) => ofData({ dataRef }).data[0]?.object)
    expect(objects).toEqual(['plain', 'global', dataObjectName('', 'Not A Name')])
  })

  it('take a key for one entry, and none for the whole object', () => {
    const keyed = ofData({ secretRef: { name: 's', key: 'k' } }).data[0]
    expect(keyed).toMatchObject({ watched: { kind: 'Secret' }, object: 's', key: 'k' })
    const whole = ofData({ configMapRef: { name: 'c' } }).data[0]
    expect(whole).toMatchObject({ watched: { kind: 'ConfigMap' }, object: 'c', key: undefined })
  })

  it('take an empty text for none, as the original does', () => {
    const empty = { target: '', targetListRef: '', targetMapRef: '' }
    expect(ofTargets({ ...empty, targets: ['one'] }).targets[0]?.names).toEqual({ list: ['one'] })
    expect(ofTargets({ ...empty, targetMap: {} }).targets[0]?.names).toEqual({ map: {} })
    const { data } = sources({ data: [{ name: 'a', dataRef: '', secretRef: { name: 's' } }] })
    expect(data).toMatchObject([{ watched: { kind: 'Secret' }, object: 's' }])
  })

  it('take an empty list and an empty map of targets for values', () => {
    expect(ofTargets({ targets: [] }).targets[0]?.names).toEqual({ list: [] })
    expect(ofTargets({ targetMap: {} }).targets[0]?.names).toEqual({ map: {} })
    expect(ofTargets({ targetMap: { dev: 'one' } }).targets[0]?.names).toEqual({ map: { dev: 'one' } })
  })
})

describe('an import that is malformed', () => {
  const refused = (imports: Imports, ...messages: readonly string[]) => {
    expect(() => sources(imports)).toThrow(
      expect.objectContaining({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true, message: messages.join('; ') }),
    )
  }
  const place = 'spec.imports.targets[0] "a": '
  const one = 'expected exactly one of target, targets, targetListRef, targetMap, targetMapRef'

  it.each<[Partial<TargetImport>, string]>([
    [{}, `${place}found no source, ${one}`],
    [{ target: 'x', targets: [] }, `${place}found target and targets, ${one}`],
    [{ targetListRef: 'x' }, `${place}found targetListRef, which is for sub-installations; expected targets`],
    [{ targetMapRef: 'x' }, `${place}found targetMapRef, which is for sub-installations; expected targetMap`],
    [{ target: '' }, `${place}found no source, ${one}`],
    [{ targets: ['x', ''] }, `${place}targets[1]: found nothing, expected the name of an object`],
    [{ targetMap: { k: '#..' } }, `${place}targetMap.k: found "#..", expected the name of an object`],
    [
      { targetMap: { Dev: 'x' } },
      `${place}targetMap: found key "Dev", expected at most 63 lower-case letters, digits, dots and dashes`,
    ],
  ])('says so: %j', (given, message) => {
    refused({ targets: [{ name: 'a', ...given }] }, message)
  })

  it('says so of data, which the schema refuses by now', () => {
    refused(
      { data: [{ name: 'a', dataRef: 'x', secretRef: { name: 's' } }] },
      'spec.imports.data[0] "a": found dataRef and secretRef, expected exactly one of dataRef, secretRef, configMapRef',
    )
  })

  it('cannot lead elsewhere in the API', () => {
    for (const name of ['..', '../x', 'a/b', 'a%2fb', '.']) {
      const message = `spec.imports.data[0] "a": secretRef.name: found "${name}", expected the name of an object`
      refused({ data: [{ name: 'a', secretRef: { name } }] }, message)
    }
  })

  it('is reported with all others, and a name that occurs twice with both places', () => {
    refused(
      {
        data: [
          { name: '', dataRef: 'x' },
          { name: 'a', dataRef: 'x' },
        ],
        targets: [{ name: 'a', target: 'x' }, { name: 'b' }],
      },
      'spec.imports.data[0]: found no name, expected one',
      `${place}spec.imports.data[1] "a" has the same name, expected unique names`,
      `spec.imports.targets[1] "b": found no source, ${one}`,
    )
  })
})
