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
    ['cluster', { 'certificate-authority': '/canary' }, 'certificate-authority is set; expected the data'],
    ['cluster', { 'proxy-url': 'http://canary' }, 'proxy-url is set'],
    ['cluster', { server: 'file:///canary' }, 'server is of another scheme; expected http or https'],
    ['cluster', { server: 'unix:///canary' }, 'server is of another scheme'],
    ['cluster', { server: 'https://canary:canary@host' }, 'server is a URL with credentials'],
    ['cluster', { server: 'https://host/?canary' }, 'server is a URL with a query'],
    ['cluster', { server: 'canary' }, 'server is no URL'],
    ['cluster', { server: undefined }, 'server is absent'],
    ['cluster', { 'tls-server-name': 'canary\r\n' }, 'tls-server-name is another text'],
    [
      'cluster',
      { [CA]: CERTIFICATE, 'insecure-skip-tls-verify': true },
      'insecure-skip-tls-verify is true beside CA data',
    ],
    [
      'cluster',
      { 'insecure-skip-tls-verify': 'canary' },
      'insecure-skip-tls-verify is another text; expected true or false',
    ],
    ['cluster', { [CA]: '§canary' }, `${CA} is not base64`],
    ['cluster', { [CA]: btoa('canary') }, `${CA} is no certificate`],
    ['cluster', { [CA]: btoa('-----BEGIN CERTIFICATE-----\ncanary') }, `${CA} is no certificate`],
    ['user', { 'client-certificate': '/canary' }, 'client-certificate is set'],
    ['user', { 'client-key': '/canary' }, 'client-key is set'],
    ['user', { tokenFile: '/canary' }, 'tokenFile is set'],
    ['user', { exec: { command: 'canary' } }, 'exec is set'],
    ['user', { 'auth-provider': { name: 'canary' } }, 'auth-provider is set'],
    ['user', { token: 'x', as: 'canary' }, 'as is set'],
    ['user', { token: 'x', 'as-groups': ['canary'] }, 'as-groups is set'],
    ['user', { token: 4711 }, 'token is a number; expected a text'],
    ['user', { token: 'x\r\nImpersonate-User: canary' }, 'token is a text with blanks'],
    ['user', { token: 'x', username: 'y', password: 'canary' }, 'token is set beside username'],
    ['user', { username: 'canary' }, 'password is absent'],
    ['user', { password: 'canary' }, 'username is absent'],
    ['user', { username: 'can:ary', password: 'x' }, 'username is a text with a colon'],
    ['user', { 'client-certificate-data': CERTIFICATE }, 'client-key-data is absent'],
    ['user', { 'client-key-data': KEY }, 'client-certificate-data is absent'],
    [
      'user',
      { 'client-certificate-data': CERTIFICATE, 'client-key-data': otherKey() },
      'client-key-data is no key, or not of this certificate',
    ],
    ['context', { cluster: 'canary' }, 'clusters is without the cluster that is referred to'],
    ['context', { user: 'canary' }, 'users is without the user that is referred to'],
    ['context', { user: undefined }, 'contexts[0].context.user is absent'],
    ['root', { 'current-context': 'canary' }, 'contexts is without the context that is referred to'],
    ['root', { 'current-context': '' }, 'current-context is absent'],
    ['root', { users: twice }, 'users[1].name is the name of an earlier one'],
    ['root', { clusters: { canary: 1 } }, 'clusters is a map; expected a list'],
    [
      'root',
      { users: [null, 'canary', { name: 'u', user: 'canary' }] },
      'users[2].user is another text; expected a map',
    ],
    ['root', { kind: 'canary' }, 'kind is another text; expected Config'],
    ['root', { apiVersion: 'canary' }, 'apiVersion is another text; expected v1'],
  ])('is refused: %s %j', async (part, fields, expected) => {
    const config = kubeconfig({ [part]: fields })
    const message = await refusal(config)
    expect(message).toContain(`${PLACES[part]}${expected}`)
    expect(message).not.toContain('canary')
    expect(await refusal(writeYaml(config))).toBe(message)
  })

  it.each<[string, unknown, string]>([
    ['no map', 'canary', 'kubeconfig is another text; expected a kubeconfig'],
    ['a list', ['canary'], 'kubeconfig is a list'],
    ['nothing', '', 'kubeconfig is null'],
    ['several documents', 'canary: 1\n---\ncanary: 2\n', 'kubeconfig is a text that is not YAML (multiple docs)'],
    ['a syntax error', 'canary: [', 'kubeconfig is a text that is not YAML'],
    ['a name twice', 'canary: 1\ncanary: 2', 'kubeconfig is a text that is not YAML (duplicate key)'],
    ['an alias bomb', bomb(), 'kubeconfig is a text that cannot be read (found aliases that expand to more than'],
    ['deep nesting', '['.repeat(100_000), 'kubeconfig is a text'],
    [
      'too many characters',
      'canary: x\n'.repeat(200_000),
      'kubeconfig is a text that cannot be read (found 2000000 characters',
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
