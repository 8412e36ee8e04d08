// Normal forms of component descriptors, as the OCM library v0.11.0 makes them. test/env/ocm-registry.test.ts verifies
// signatures of OCM over both schemas in jsonNormalisation/v1 and v2.

import { describe, expect, it } from 'vitest'
import {
  canonicalText,
  entriesText,
  normalForms,
  type Normalisation,
} from '../../../../activities/landscaper/components/normalise.ts'
import { readComponent } from '../../../../activities/landscaper/render/blueprint/component-descriptor.ts'

const digest = (value: string) => ({ hashAlgorithm: 'SHA-256', normalisationAlgorithm: 'genericBlobDigest/v1', value })
const labels = [
  { name: 'free', value: 1 },
  { name: 'covered', value: { b: '<&>', a: null }, version: 'v1', signing: true, merge: { algorithm: 'simple' } },
]
const resources = [
  { name: 'text', version: '', relation: 'local', type: 'text', labels, access: { type: 'localBlob' } },
  { name: 'nothing', version: '2', type: 'text', srcRefs: [{}], access: { type: 'none' } },
]
const references = [{ name: 'db', version: '3', componentName: 'example.com/db', labels, extraIdentity: { zone: 'a' } }]
const sources = [{ name: 'code', version: '1', type: 'git', access: { type: 'git' } }]
const digests = { resources: [digest('11'), digest('22')], references: [digest('33')] }

const V2 = {
  meta: { schemaVersion: 'v2' },
  component: {
    name: 'example.com/a',
    version: '1.0.0',
    provider: 'acme',
    labels,
    creationTime: '2024-01-02T03:04:05.6+01:00',
    repositoryContexts: [{ type: 'OCIRegistry' }],
    resources,
    sources,
    componentReferences: references,
  },
  signatures: [{}],
}
const V3 = {
  apiVersion: 'ocm.software/v3alpha1',
  kind: 'ComponentVersion',
  metadata: { name: 'example.com/a', version: '1.0.0', provider: { name: 'acme', labels } },
  spec: { resources, references, sources: [] },
}
const formsOf = (document: object, normalisation: Normalisation) =>
  normalForms(readComponent(document, 'it'), normalisation, digests)

const COVERED = '{"name":"covered","signing":true,"value":{"a":null,"b":"<&>"},"version":"v1"}'
const ALL_LABELS = `[{"name":"free","value":1},${COVERED.replace('"name":"covered"', '"merge":{"algorithm":"simple"},"name":"covered"')}]`
const DIGEST = (value: string) =>
  `{"hashAlgorithm":"SHA-256","normalisationAlgorithm":"genericBlobDigest/v1","value":"${value}"}`

describe('the normal form jsonNormalisation/v2', () => {
  it('contains the signed fields and all labels of references, and omits the digest of a resource without content', () => {
    const resource = `{"digest":${DIGEST('11')},"labels":[${COVERED}],"name":"text","relation":"local","type":"text","version":"1.0.0"}`
    const nothing = '{"name":"nothing","type":"text","version":"2"}'
    const reference = `{"componentName":"example.com/db","digest":${DIGEST('33')},"extraIdentity":{"zone":"a"},"labels":${ALL_LABELS},"name":"db","version":"3"}`
    const source = '{"name":"code","type":"git","version":"1"}'
    expect(formsOf(V2, 'jsonNormalisation/v2')).toEqual([
      `{"component":{"componentReferences":[${reference}],"creationTime":"2024-01-02T02:04:06Z","labels":[${COVERED}],` +
        `"name":"example.com/a","provider":{"name":"acme"},"resources":[${resource},${nothing}],"sources":[${source}],"version":"1.0.0"}}`,
    ])
    expect(formsOf(V2, 'jsonNormalisation/v3')).toEqual(formsOf(V2, 'jsonNormalisation/v2'))
  })

  it('is the same for both schema versions', () => {
    const provider = JSON.stringify(V3.metadata.provider)
    const component = { ...V2.component, provider, sources: [], creationTime: undefined, labels: undefined }
    expect(formsOf(V3, 'jsonNormalisation/v2')).toEqual(formsOf({ ...V2, component }, 'jsonNormalisation/v2'))
    expect(formsOf(V3, 'jsonNormalisation/v2')[0]).toContain(`"provider":{"labels":[${COVERED}],"name":"acme"}`)
  })
})

describe('resources that differ only in their version', () => {
  it('have two normal forms, with and without versions in their identities; jsonNormalisation/v3 has only the form without versions', () => {
    const one = (version: string) => ({ name: 'text', version, type: 'text', access: { type: 'localBlob' } })
    const document = { ...V3, spec: { resources: [one('1'), one('2')] } }
    const forms = formsOf(document, 'jsonNormalisation/v2')
    expect(forms.map((form) => form.match(/"extraIdentity":\{"version":"\d"\}/g))).toEqual([
      null,
      ['"extraIdentity":{"version":"1"}'],
    ])
    expect(formsOf(document, 'jsonNormalisation/v3')).toEqual([forms[0]])
  })
})

describe('labels', () => {
  it('are refused when they are nested deeper than 500 levels', () => {
    let value: unknown = 1
    for (let level = 0; level < 600; level += 1) value = [value]
    const document = { ...V3, metadata: { ...V3.metadata, labels: [{ name: 'deep', value, signing: true }] } }
    expect(() => formsOf(document, 'jsonNormalisation/v1')).toThrow('nested deeper than 500 levels')
  })
})

describe('canonical JSON', () => {
  it('sorts names, including numeric names, by UTF-16, and names in entries by UTF-8; entries escape HTML as Go does', () => {
    const value = { 9: 1, 10: 2, '\u{1F600}': 3, '\uFF5E': 4 }
    expect(canonicalText(value)).toBe('{"10":2,"9":1,"\u{1F600}":3,"\uFF5E":4}')
    expect(entriesText(value)).toBe('[{"10":2},{"9":1},{"\uFF5E":4},{"\u{1F600}":3}]')
    expect([canonicalText('<&>'), entriesText('<&>')]).toEqual(['"<&>"', '"\\u003c\\u0026\\u003e"'])
  })
})
