// Which credential is for which registry. Source: spec/landscaper.md 1.7; Docker's config.json.

import { describe, expect, it } from 'vitest'
import { credentialFor, readDockerConfig } from '../../../../activities/landscaper/components/registry-credentials.ts'

const entry = (user: string) => ({ username: user, password: 'p' })
const AUTHS = {
  'ghcr.io': entry('all'),
  'ghcr.io/acme': entry('acme'),
  '*.example.com': entry('wildcard'),
  'https://index.docker.io/v1/': entry('docker'),
}

describe('a pull secret', () => {
  it.each([
    ['https://ghcr.io', 'shop', 'all'],
    ['https://ghcr.io', 'acme/shop', 'acme'],
    ['https://ghcr.io', 'acmeother/shop', 'all'],
    ['https://ghcr.io:5000', 'shop', undefined],
    ['https://ghcr.io.example.org', 'shop', undefined],
    ['https://a.example.com', 'shop', 'wildcard'],
    ['https://a.b.example.com', 'shop', undefined],
    ['https://registry-1.docker.io', 'library/alpine', 'docker'],
  ])('has for %s/%s the credential %s', (origin, path, username) => {
    const entries = readDockerConfig({ auths: AUTHS }, 'it', 'config.json')
    expect(credentialFor(entries, { origin, path })?.username).toBe(username)
  })

  it('has no more entries than one can look through', () => {
    const names = Array.from({ length: 1001 }, (_, index) => `r${index}.example.com`)
    const auths = Object.fromEntries(names.map((name) => [name, { auth: 'YTpi' }]))
    const read = () => readDockerConfig({ auths }, 'it', 'config.json')
    expect(read).toThrow('it.auths: found 1001 entries; expected at most 1000')
  })
})
