import { generateKeyPairSync } from 'node:crypto'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { writeYaml } from '../../../../../activities/yaml/write-yaml.ts'
import {
  KubeconfigError,
  readKubeconfig,
  formatKubeconfig,
} from '../../../../../activities/landscaper/deploy/target/kubeconfig.ts'
import { readSecretEntry } from '../../../../../activities/landscaper/deploy/target/target-config.ts'
import { data } from '../../tenant-data.ts'
import { CERTIFICATE, KEY } from './credentials.ts'

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly context?: object
  readonly root?: object
}

const SERVER = 'https://example.org:6443'

function kubeconfig({ cluster = {}, user = { token: 'secret' }, context = {}, root = {} }: Parts = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    'current-context': 'now',
    clusters: [
      { name: 'other', cluster: { server: 'https://other', 'proxy-url': 'http://unused' } },
      { name: 'c', cluster: { server: SERVER, ...cluster } },
    ],
    users: [
      { name: 'other', user: { exec: { command: 'unused' } } },
      { name: 'u', user },
    ],
    contexts: [{ name: 'now', context: { cluster: 'c', user: 'u', namespace: 'default', ...context } }],
    ...root,
  }
}

/** As the text of a Secret's entry. */
async function ofText(text: string): Promise<unknown> {
  const config = await readSecretEntry(data, text, 'kubeconfig')
  return 'cluster' in config ? config.cluster : config
}

const refusal = async (config: unknown): Promise<string> => {
  try {
    if (typeof config === 'string') await ofText(config)
    else readKubeconfig(config)
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message
    throw error
  }
  return 'accepted'
}

describe('a kubeconfig with inline data', () => {
  it.each<[string, Parts, object]>([
    ['a token', {}, { server: SERVER, isInsecure: false, credentials: { token: 'secret' } }],
    [
      'name and password',
      { user: { username: 'me', password: 'pass: word' } },
      { server: SERVER, isInsecure: false, credentials: { basic: { username: 'me', password: 'pass: word' } } },
    ],
    [
      'a certificate and an authority',
      {
        cluster: { 'certificate-authority-data': CERTIFICATE, 'tls-server-name': 'kubernetes' },
        user: { 'client-certificate-data': CERTIFICATE, 'client-key-data': KEY },
      },
      {
        server: SERVER,
        isInsecure: false,
        caData: CERTIFICATE,
        tlsServerName: 'kubernetes',
        credentials: { certificate: { data: CERTIFICATE, key: KEY } },
      },
    ],
    ['nothing', { user: {} }, { server: SERVER, isInsecure: false, credentials: {} }],
    [
      'an unchecked server behind a path',
      { cluster: { server: 'http://10.0.0.1:8080/k8s/clusters/c-1/', 'insecure-skip-tls-verify': true } },
      { server: 'http://10.0.0.1:8080/k8s/clusters/c-1', isInsecure: true, credentials: { token: 'secret' } },
    ],
    [
      'empty fields, as other tools write them',
      {
        cluster: { 'certificate-authority': '', 'insecure-skip-tls-verify': false },
        user: { token: 'secret', tokenFile: '', exec: null },
      },
      { server: SERVER, isInsecure: false, credentials: { token: 'secret' } },
    ],
    [
      'fields that kubectl ignores, as clients write them',
      {
        cluster: { name: 'c', skipTLSVerify: true },
        user: { token: 'secret', name: 'u', tokenfile: '/unread' },
        context: { name: 'now' },
        root: { 'current-user': 'u' },
      },
      { server: SERVER, isInsecure: false, credentials: { token: 'secret' } },
    ],
  ])('%s is accepted as value, JSON and YAML, and is written for the client', async (_, parts, access) => {
    const config = kubeconfig(parts)
    expect(readKubeconfig(config)).toEqual(access)
    expect(await ofText(JSON.stringify(config))).toEqual(access)
    expect(await ofText(writeYaml(config))).toEqual(access)
    expect(await ofText(formatKubeconfig(readKubeconfig(config)))).toEqual(access)
  })

  it('may have line breaks in its base64 data', () => {
    const broken = CERTIFICATE.replaceAll(/(.{64})/g, '$1\n')
    const config = kubeconfig({ cluster: { 'certificate-authority-data': broken } })
    expect(readKubeconfig(config).caData).toBe(CERTIFICATE)
  })
})

describe('an unsafe or invalid kubeconfig', () => {
  const PLACES = {
    cluster: 'kubeconfig.clusters[1].cluster.',
    user: 'kubeconfig.users[1].user.',
    context: 'kubeconfig.',
    root: 'kubeconfig.',
  }
  const CA = 'certificate-authority-data'
  const twice = [
    { name: 'u', user: {} },
    { name: 'u', user: { token: 'canary' } },
  ]

  it.each<[keyof Parts, object, string]>([
    ['cluster', { 'certificate-authority': '/canary' }, 'certificate-authority: found a value; expected the content'],
    ['cluster', { 'proxy-url': 'http://canary' }, 'proxy-url: found a value'],
    ['cluster', { server: 'file:///canary' }, 'server: found another scheme; expected http or https'],
    ['cluster', { server: 'unix:///canary' }, 'server: found another scheme'],
    ['cluster', { server: 'https://canary:canary@host' }, 'server: found a URL with credentials'],
    ['cluster', { server: 'https://host/?canary' }, 'server: found a URL with a query'],
    ['cluster', { server: 'canary' }, 'server: found no URL'],
    ['cluster', { server: undefined }, 'server: found nothing'],
    ['cluster', { 'tls-server-name': 'canary\r\n' }, 'tls-server-name: found another text'],
    [
      'cluster',
      { [CA]: CERTIFICATE, 'insecure-skip-tls-verify': true },
      'insecure-skip-tls-verify: found true and certificate-authority-data',
    ],
    [
      'cluster',
      { 'insecure-skip-tls-verify': 'canary' },
      'insecure-skip-tls-verify: found another text; expected true or false',
    ],
    ['cluster', { [CA]: '§canary' }, `${CA}: found invalid base64`],
    ['cluster', { [CA]: btoa('canary') }, `${CA}: found no certificate`],
    ['cluster', { [CA]: btoa('-----BEGIN CERTIFICATE-----\ncanary') }, `${CA}: found no certificate`],
    ['user', { 'client-certificate': '/canary' }, 'client-certificate: found a value'],
    ['user', { 'client-key': '/canary' }, 'client-key: found a value'],
    ['user', { tokenFile: '/canary' }, 'tokenFile: found a value'],
    ['user', { exec: { command: 'canary' } }, 'exec: found a value'],
    ['user', { 'auth-provider': { name: 'canary' } }, 'auth-provider: found a value'],
    ['user', { token: 'x', as: 'canary' }, 'as: found a value'],
    ['user', { token: 'x', 'as-groups': ['canary'] }, 'as-groups: found a value'],
    ['user', { token: 4711 }, 'token: found a number; expected a text'],
    ['user', { token: 'x\r\nImpersonate-User: canary' }, 'token: found a text with blanks'],
    ['user', { token: 'x', username: 'y', password: 'canary' }, 'token: found a token and a username'],
    ['user', { username: 'canary' }, 'password: found nothing'],
    ['user', { password: 'canary' }, 'username: found nothing'],
    ['user', { username: 'can:ary', password: 'x' }, 'username: found a text with a colon'],
    ['user', { 'client-certificate-data': CERTIFICATE }, 'client-key-data: found nothing'],
    ['user', { 'client-key-data': KEY }, 'client-certificate-data: found nothing'],
    [
      'user',
      { 'client-certificate-data': CERTIFICATE, 'client-key-data': otherKey() },
      'client-key-data: found no key of this certificate',
    ],
    ['context', { cluster: 'canary' }, 'clusters: found no cluster with the referenced name'],
    ['context', { user: 'canary' }, 'users: found no user with the referenced name'],
    ['context', { user: undefined }, 'contexts[0].context.user: found nothing'],
    ['root', { 'current-context': 'canary' }, 'contexts: found no context with the referenced name'],
    ['root', { 'current-context': '' }, 'current-context: found nothing'],
    ['root', { users: twice }, 'users[1].name: found the name of an earlier entry'],
    ['root', { clusters: { canary: 1 } }, 'clusters: found a map; expected a list'],
    [
      'root',
      { users: [null, 'canary', { name: 'u', user: 'canary' }] },
      'users[2].user: found another text; expected a map',
    ],
    ['root', { kind: 'canary' }, 'kind: found another text; expected Config'],
    ['root', { apiVersion: 'canary' }, 'apiVersion: found another text; expected v1'],
  ])('is refused: %s %j', async (part, fields, expected) => {
    const config = kubeconfig({ [part]: fields })
    const message = await refusal(config)
    expect(message).toContain(`${PLACES[part]}${expected}`)
    expect(message).not.toContain('canary')
    expect(await refusal(writeYaml(config))).toBe(message)
  })

  it.each<[string, unknown, string]>([
    ['no map', 'canary', 'kubeconfig: found another text; expected a kubeconfig'],
    ['a list', ['canary'], 'kubeconfig: found a list'],
    ['nothing', '', 'kubeconfig: found null'],
    ['several documents', 'canary: 1\n---\ncanary: 2\n', 'kubeconfig: found several YAML documents'],
    ['a syntax error', 'canary: [', 'kubeconfig: found a text that is not YAML'],
    ['a name twice', 'canary: 1\ncanary: 2', 'kubeconfig: found a text that is not YAML (duplicate key)'],
    ['an alias bomb', bomb(), 'kubeconfig: found a text that cannot be read (found aliases that expand to more than'],
    ['deep nesting', '['.repeat(100_000), 'kubeconfig: found a text'],
    [
      'too many characters',
      'canary: x\n'.repeat(200_000),
      'kubeconfig: found a text that cannot be read (found 2000000 characters',
    ],
  ])('with %s is refused', async (_, text, expected) => {
    const message = await refusal(text)
    expect(message).toContain(expected)
    expect(message).not.toContain('canary')
  })
})

describe('a kubeconfig with random fields', () => {
  const ALLOWED = new Set([
    ...['apiVersion', 'kind', 'current-context', 'clusters', 'users', 'contexts', 'name', 'cluster', 'user', 'context'],
    ...['server', 'certificate-authority-data', 'tls-server-name', 'insecure-skip-tls-verify'],
    ...['client-certificate-data', 'client-key-data', 'token', 'username', 'password'],
  ])
  const fields = fc.constantFrom(
    ...['certificate-authority', 'client-certificate', 'client-key', 'tokenFile', 'exec', 'auth-provider', 'as'],
    ...['as-groups', 'as-uid', 'proxy-url', 'impersonate-user', 'caFile', 'certFile', 'keyFile', 'authProvider'],
    ...['__proto__', 'constructor', 'extensions', 'disable-compression', 'namespace', 'server', 'token'],
    'insecure-skip-tls-verify',
  )
  const values = fc.oneof(fc.jsonValue(), fc.constantFrom('/canary', 'canary', '', null, true, { command: 'canary' }))
  const part = fc.dictionary(fields, values, { maxKeys: 3 })

  it('keeps only allowed fields, and errors do not quote its values', () => {
    fc.assert(
      fc.property(part, part, part, part, (cluster, user, context, root) => {
        const parts = { cluster, user, context, root }
        try {
          const written = JSON.parse(formatKubeconfig(readKubeconfig(kubeconfig(parts)))) as object
          expect(namesIn(written).filter((name) => !ALLOWED.has(name))).toEqual([])
        } catch (error) {
          expect(error).toBeInstanceOf(KubeconfigError)
          expect((error as Error).message).not.toContain('canary')
        }
      }),
      { numRuns: 2000 },
    )
  })
})

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const names = Array.isArray(value) ? [] : Object.keys(value)
  return [...names, ...Object.values(value).flatMap(namesIn)]
}

function otherKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })).toString('base64')
}

function bomb(): string {
  const levels = Array.from(
    { length: 12 },
    (_, level) => `a${level + 1}: &a${level + 1} [${Array(9).fill(`*a${level}`).join(',')}]`,
  )
  return ['a0: &a0 canary', ...levels].join('\n')
}
