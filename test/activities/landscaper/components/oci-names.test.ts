// References to OCI artefacts. Source: OCI distribution spec 1.1 (grammar of names); OCM v0.11.0, oci/ref.go.

import { describe, expect, it } from 'vitest'
import { readOciReference } from '../../../../activities/landscaper/components/oci-names.ts'

describe('a reference to an artefact', () => {
  it.each([
    ['alpine', 'https://registry-1.docker.io', 'library/alpine', 'latest'],
    ['acme/shop:1.0.0', 'https://registry-1.docker.io', 'acme/shop', '1.0.0'],
    ['ghcr.io/acme/shop:1.0.0', 'https://ghcr.io', 'acme/shop', '1.0.0'],
    ['http://localhost:5000/shop:1', 'http://localhost:5000', 'shop', '1'],
  ])('is read from %s', (text, origin, path, reference) => {
    expect(readOciReference(text)).toEqual({ repository: { origin, path }, reference })
  })

  it.each(['ghcr.io/Acme/shop', 'ghcr.io/a/../b', 'user:password@ghcr.io/shop', 'ghcr.io/shop@sha256:00'])(
    'is refused as invalid: %s',
    (text) => {
      expect(readOciReference(text)).toBeUndefined()
    },
  )

  it('is refused as invalid when it is longer than registries allow', () => {
    expect(readOciReference(`ghcr.io/${'a/'.repeat(100)}a:1`)).toBeDefined()
    expect(readOciReference(`ghcr.io/${'a/'.repeat(128)}a:1`)).toBeUndefined()
    expect(readOciReference(`${'a.'.repeat(100_000)}io/a:1`)).toBeUndefined()
  })
})
