import { writeFile } from 'node:fs/promises'
import type { ConnectionOptions } from 'node:tls'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { libraryAccess } from '../../../activities/kube/client.ts'
import type { KubeAccess } from '../../../activities/kube/http-client.ts'
import { readPlainKubeconfig } from '../../../activities/kube/plain-kubeconfig.ts'
import { scratchFolder } from '../../worker/dev/scratch.ts'

const DATA = Buffer.from('-----BEGIN X-----').toString('base64')
const SERVER = { server: 'https://api.example:6443' }

function kubeconfig(cluster: unknown, user: unknown, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'other', user: 'other' } },
      { name: 'here', context: { cluster: 'one', user: 'one', namespace: 'team-a' } },
    ],
    clusters: [
      { name: 'other', cluster: { server: 'https://other.example' } },
      { name: 'one', cluster },
      { name: 'one', cluster: { server: 'https://second.example' } },
    ],
    users: [
      { name: 'other', user: { token: 'of-another' } },
      { name: 'one', user },
    ],
    ...more,
  })
}

async function said({ server, connection, authenticate }: KubeAccess) {
  const { headers, connect } = await authenticate()
  const { ca, cert, key, servername, rejectUnauthorized } = connect as ConnectionOptions
  return {
    server,
    connection: connection(),
    headers: { ...headers },
    tls: { ca, cert, key, servername, rejectUnauthorized },
  }
}

describe('a plain kubeconfig', () => {
  it.each([
    ['a token', SERVER, { token: 'abc' }],
    ['a certificate', SERVER, { 'client-certificate-data': DATA, 'client-key-data': DATA }],
    ['a name and a password', SERVER, { username: 'ada', password: 'secret' }],
    ['a token beside a name', SERVER, { username: 'ada', password: 'secret', token: 'abc' }],
    ['somebody in whose place it asks', SERVER, { token: 'abc', as: 'bob' }],
    ['nobody', SERVER, {}],
    ['an authority', { ...SERVER, 'certificate-authority-data': DATA }, { token: 'abc' }],
    ['a slash at the end', { server: 'https://api.example/' }, { token: 'abc' }],
    ['a path', { server: 'https://rancher.example/k8s/clusters/c-1' }, { token: 'abc' }],
    ['another name in the certificate', { ...SERVER, 'tls-server-name': 'other.example' }, { token: 'abc' }],
    ['no look at the certificate', { ...SERVER, 'insecure-skip-tls-verify': true }, { token: 'abc' }],
    ['no TLS', { server: 'http://127.0.0.1:8080', 'insecure-skip-tls-verify': true }, {}],
    [
      'fields that are empty',
      { ...SERVER, 'proxy-url': '', 'certificate-authority': '' },
      { token: 'abc', exec: null },
    ],
    ['extensions', { ...SERVER, extensions: [{ name: 'minikube', extension: {} }] }, { token: 'abc' }],
  ])('with %s is read as the library reads it', async (_, cluster, user) => {
    const text = kubeconfig(cluster, user)
    const plain = readPlainKubeconfig(text)
    expect(plain).toBeDefined()
    expect(await said(plain!)).toEqual(await said(libraryAccess({ kubeconfig: text })))
  })

  it('with files is read as the library reads it', async () => {
    const file = join(await scratchFolder(), 'some.pem')
    await writeFile(file, '-----BEGIN X-----')
    const cluster = { ...SERVER, 'certificate-authority': file }
    const text = kubeconfig(cluster, { 'client-certificate': file, 'client-key': file })
    expect(await said(readPlainKubeconfig(text)!)).toEqual(await said(libraryAccess({ kubeconfig: text })))
  })

  it('with a file for its token has the token of now', async () => {
    const tokenFile = join(await scratchFolder(), 'token')
    await writeFile(tokenFile, 'of-a-file\n')
    const access = readPlainKubeconfig(kubeconfig(SERVER, { token: 'old', tokenFile }))!
    expect((await access.authenticate()).headers).toEqual({ Authorization: 'Bearer of-a-file' })
    await writeFile(tokenFile, 'rotated')
    expect((await access.authenticate()).headers).toEqual({ Authorization: 'Bearer rotated' })
  })
})

const NOT_PLAIN: readonly (readonly [string, unknown, unknown, object?])[] = [
  ['a plugin', SERVER, { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'aws' } }],
  ['a provider', SERVER, { 'auth-provider': { name: 'oidc' } }],
  ['a proxy', { ...SERVER, 'proxy-url': 'http://proxy.example' }, { token: 'abc' }],
  ['a field of later versions', SERVER, { token: 'abc', 'as-groups': ['g'] }],
  ['a file beside data', { ...SERVER, 'certificate-authority': 'f', 'certificate-authority-data': DATA }, {}],
  ['a token that is no text', SERVER, { token: 7 }],
  ['a text that says no', { ...SERVER, 'insecure-skip-tls-verify': 'false' }, {}],
  ['no TLS, unsaid', { server: 'http://127.0.0.1:8080' }, {}],
  ['no server', {}, {}],
  ['a user that is nothing', SERVER, null],
  ['no users', SERVER, {}, { users: [] }],
  ['no context of the name', SERVER, {}, { 'current-context': 'nowhere' }],
  ['lists that are none', SERVER, {}, { contexts: 'x', clusters: 1 }],
]

describe('a kubeconfig that is not plain', () => {
  it.each(NOT_PLAIN.map(([what, ...of]) => [what, kubeconfig(...of)] as const))(
    'with %s is left to the library',
    (_, text) => {
      expect(readPlainKubeconfig(text)).toBeUndefined()
    },
  )
})
