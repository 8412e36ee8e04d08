// Tests that Pawl reports a YAML text with a second document, and uses the first document.

import { afterAll, describe, expect, it } from 'vitest'
import { createDataReader } from '../../../activities/landscaper/bounded/tenant-data.ts'
import { recordPlaces } from '../../../activities/landscaper/further-documents.ts'

const reader = createDataReader()
afterAll(() => reader.close())

describe('a YAML text with two documents', () => {
  it('is reported with its place, and the first document is used', async () => {
    const places = new Set<string>()
    const data = recordPlaces(reader.of({ namespace: 'n' }), places)
    expect(await data.yaml('a: 1\n---\nb: 2', 'template "items"')).toEqual({ a: 1 })
    expect(await data.yaml('a: 1\n---\n', 'template "one"')).toEqual({ a: 1 })
    await data.definition('kind: Blueprint\n---\nkind: Blueprint\n')
    expect([...places]).toEqual(['template "items"', 'blueprint.yaml'])
  })
})
