import { describe, expect, it } from 'vitest'
import { apiAddressOf } from '../../../worker/cli/api-place.ts'

describe('the address of pawl api', () => {
  it('is a URL or a Service', () => {
    expect(apiAddressOf(undefined, undefined, '--')).toBeUndefined()
    expect(apiAddressOf('https://pawl.example.org/', undefined, '--')).toEqual({ url: 'https://pawl.example.org' })
    expect(apiAddressOf('http://127.0.0.1:9444', undefined, '$')).toEqual({ url: 'http://127.0.0.1:9444' })
    expect(apiAddressOf('http://[::1]:9444', undefined, '$')).toEqual({ url: 'http://[::1]:9444' })
    expect(apiAddressOf(undefined, 'pawl/pawl-api', '--')).toEqual({ namespace: 'pawl', name: 'pawl-api' })
  })

  it.each([
    [
      'http://pawl.example.org',
      undefined,
      '--api-url: the value is not a URL of pawl api; expected https://HOST, or http',
    ],
    ['https://u:geheim@pawl.example.org', undefined, '--api-url: the value is not a URL'],
    ['nothing', undefined, '--api-url: the value is not a URL'],
    [undefined, 'pawl', '--api-service: found "pawl"; expected namespace/name'],
    [undefined, '../../secrets/pawl', 'expected namespace/name'],
    ['https://a.example', 'pawl/pawl-api', '--api-url and --api-service exclude each other; set one of them'],
  ])('is refused for %j, %j', (url, service, message) => {
    let found: unknown
    try {
      apiAddressOf(url, service, '--')
    } catch (error) {
      found = error
    }
    expect(String(found)).toContain(message)
    expect(String(found)).not.toContain('geheim')
  })
})
