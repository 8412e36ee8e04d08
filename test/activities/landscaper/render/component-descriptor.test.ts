// Tests the parser of component descriptors (schemas v2 and v3alpha1), its errors, and the conversion of schemas.

import { describe, expect, it } from 'vitest'
import { readComponent } from '../../../../activities/landscaper/render/blueprint/component-descriptor.ts'
import { convertDescriptor } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import { blob, descriptorV2, descriptorV3, reference } from '../../../support/registries/component-registry.ts'

const NAME = 'example.com/shop'
const CONTENTS = {
  resources: [blob('chart', 'helm'), { name: 'image', type: 'ociImage', extraIdentity: { arch: 'arm' } }],
  references: [reference('db', 'example.com/db', '2.0.0')],
  repositoryContexts: [{ type: 'local' }, { type: 'local', filePath: 'moved' }],
}
const v2 = descriptorV2(NAME, '1.2.0', CONTENTS)
const v3 = descriptorV3(NAME, '1.2.0', CONTENTS)

const problemsOf = (document: unknown): string => {
  try {
    readComponent(document, 'inline')
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

describe('a component descriptor', () => {
  it('says the same in both schemas, each in its own places', () => {
    const [second, third] = [readComponent(v2, 'inline'), readComponent(v3, 'inline')]
    expect(second).toMatchObject({
      name: NAME,
      version: '1.2.0',
      schemaVersion: 'v2',
      repositoryContexts: CONTENTS.repositoryContexts,
      resources: [
        { name: 'chart', type: 'helm', version: 'v1.0.0', access: { type: 'localBlob' } },
        { name: 'image', extraIdentity: { arch: 'arm' }, place: 'inline.component.resources[1]' },
      ],
      references: [{ name: 'db', componentName: 'example.com/db', version: '2.0.0' }],
    })
    expect(third.schemaVersion).toBe('ocm.software/v3alpha1')
    expect(third.references[0]?.place).toBe('inline.spec.references[0]')
    const without = ({ resources, references }: typeof second) =>
      [...resources, ...references].map((entry) => ({ ...entry, place: '' }))
    expect(without(third)).toEqual(without(second))
  })

  it('becomes the other schema and itself again', () => {
    expect(convertDescriptor(readComponent(v2, ''), 'ocm.software/v3alpha1')).toEqual(v3)
    expect(convertDescriptor(readComponent(v3, ''), 'v2')).toEqual(v2)
    expect(convertDescriptor(readComponent(v2, ''), 'v2')).toBe(v2)
  })

  it('keeps the labels of a provider in the text that v2 has for it', () => {
    const provider = { name: 'acme', labels: [{ name: 'a', value: 1 }] }
    const labelled = { ...v3, metadata: { ...v3.metadata, provider } }
    const second = convertDescriptor(readComponent(labelled, ''), 'v2')
    expect(second['component']).toMatchObject({ provider: JSON.stringify(provider) })
    expect(convertDescriptor(readComponent(second, ''), 'ocm.software/v3alpha1')).toEqual(labelled)
  })

  it.each<[string, unknown, string]>([
    ['text', 'shop', 'inline: found a string; expected a map'],
    [
      'nothing',
      null,
      'inline: found no schema version; expected meta.schemaVersion v2 or apiVersion ocm.software/v3alpha1',
    ],
    [
      'another schema',
      { meta: { schemaVersion: 'v9' } },
      'inline: found schema version "v9"; expected meta.schemaVersion v2 or apiVersion ocm.software/v3alpha1',
    ],
    [
      'no names',
      { meta: { schemaVersion: 'v2' }, component: { resources: [{ name: 'a' }] } },
      'inline.component.resources[0]: type is missing; add it | inline.component: name is missing; add it | inline.component: version is missing; add it',
    ],
    [
      'lists that are none',
      { ...v3, spec: { resources: {}, references: [1] } },
      'inline.spec.resources: found a map; expected a list | inline.spec.references[0]: found a number; expected a map',
    ],
    [
      'parts of both schemas, of which a signature covers one',
      { ...v3, component: v2['component'] },
      'inline.component: found it in a descriptor of the schema ocm.software/v3alpha1; expected metadata and spec alone',
    ],
    [
      'two of one identity',
      descriptorV2(NAME, '1', { resources: [blob('a', 'x'), blob('a', 'x')] }),
      'inline.component.resources[1]: found "a" a second time; expected another name, version or extraIdentity',
    ],
  ])('with %s is refused with the place', (_, document, message) => {
    expect(problemsOf(document)).toContain(message)
  })

  it('with very many entries is refused', () => {
    const resources = Array.from({ length: 5001 }, (_, index) => blob(`r${index}`, 'x'))
    expect(problemsOf(descriptorV3(NAME, '1', { resources }))).toBe(
      'inline.spec.resources: found 5001 entries; expected at most 5000',
    )
  })
})
