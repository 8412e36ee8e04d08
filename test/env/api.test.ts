// Tests `pawl api` on a real API server and a real journal: two tenants with their own tokens call it directly and
// through the API server's proxy for Services. Each command that reads the journal runs over it.

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { PAWL_VERSION } from '../../worker/server/version.ts'
import { asAdmin, createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { makeAccount, RIGHTS } from '../support/rights/accounts.ts'
import { Authority } from '../support/servers/certificates.ts'
import { auditedCreations, auditMark } from '../support/cluster/audit-log.ts'
import { clusterAddress } from '../support/cluster/cluster-network.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { freePort } from '../support/servers/free-port.ts'
import {
  checkCommand,
  COMMANDS,
  fillJournal,
  GROUP,
  RUN,
  runPawl,
  TEAM_A as ALICE,
  TEAM_B as BOB,
} from './ask-stage.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
/** An address at which the API server reaches this machine. */
const HOST = clusterAddress('127.64.0.1')

const { kubeconfigPath, databaseUrl, auditLogPath } = inject('servers')
const alice = new Cluster(kubeconfigPath, ALICE)
const bob = new Cluster(kubeconfigPath, BOB)
// The namespace of pawl api's ServiceAccount, which has only the role of deploy/rbac/api.yaml.
const home = new Cluster(kubeconfigPath, `${RIGHTS}-api`)
let test: TestDatabase
let api: ChildProcess
let port: number
let authority: string
let ofAlice: string
let ofBob: string

beforeAll(async () => {
  test = await createTestDatabase(databaseUrl)
  for (const cluster of [alice, bob, home]) await cluster.createNamespace()
  ;[ofAlice, ofBob] = [await tenant(alice), await tenant(bob)]
  const account = await makeAccount(inject('servers'), home, 'pawl-api')
  await bind(home, 'api-reviewer', { kind: 'ClusterRole', name: 'pawl-api' }, 'pawl-api')
  await fillJournal(test.db)
  port = await freePort()
  const dir = await mkdtemp(join(tmpdir(), 'pawl-api-'))
  const own = await Authority.make('api')
  const { cert, key } = await own.issue('localhost')
  authority = join(dir, 'ca.crt')
  for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': own.cert }))
    await writeFile(join(dir, name), text)
  const flags = ['--host', '0.0.0.0', '--port', String(port), '--certificate-dir', dir, '--rights-ms', '500']
  const reviews = ['--reviews-per-second', String(REVIEWS_PER_SECOND)]
  const more = [...reviews, '--kubeconfig', account, '--database-url', await readersUrl(), '--drain-ms', '0']
  api = spawn(process.execPath, [PAWL, 'api', ...flags, ...more], { stdio: ['ignore', 'ignore', 'inherit'] })
}, 120_000)
afterAll(async () => {
  api.kill()
  await Promise.all([alice, bob, home].map(async ({ kube }) => await kube.close()))
  await test.drop()
  await asAdmin(databaseUrl, `drop role ${READER}`)
})

describe('a tenant with a token', () => {
  const direct = () => ['--api-url', `https://localhost:${port}`]

  it('sees its own objects, and no objects of the other tenant', async () => {
    await expect.poll(async () => (await ask('followedKinds', {}, ofAlice)).status, { timeout: 60_000 }).toBe(200)
    const all = await pawl(ofBob, 'get', 'inst', '-A', '-o', 'name', ...direct())
    expect(all.stdout).toBe(`installation.${GROUP}/other\n`)
    const theirs = await pawl(ofBob, 'get', 'inst', '-n', ALICE, ...direct())
    expect(theirs).toMatchObject({ code: 1, stdout: '' })
    expect(theirs.stderr).toContain(`you may not list Installation.${GROUP} in namespace ${ALICE}`)
    const guessed = await ask('eventsOf', { uid: 'i1' }, ofBob)
    expect(guessed).toMatchObject({ status: 200, body: { answer: [] } })
  })

  it.each(COMMANDS)('reads its own objects: $title', async (command) => {
    await checkCommand(command, { flags: direct(), env: environment(ofAlice) })
  })

  it('exports its own job, and no rows of a job of the other tenant', async () => {
    const told = await pawl(ofAlice, 'journal', 'export', 'inst/shop', '-n', ALICE, ...direct())
    expect(told).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the file has no history') as unknown,
    })
    expect(JSON.parse(told.stdout)).toMatchObject({ journal: { job: { namespace: ALICE, name: 'shop' } } })
    const guessed = await ask('exportedRows', { workflowID: RUN, uid: 'i1' }, ofBob)
    expect(guessed).toMatchObject({ status: 200, body: { answer: { writes: [], events: [] } } })
  })

  it('sees its user name in the output of pawl doctor', async () => {
    const { stdout } = await pawl(ofAlice, 'doctor', '-n', ALICE, '-o', 'json', ...direct())
    const findings = JSON.parse(stdout) as readonly { readonly part: string; readonly text: string }[]
    expect(Object.fromEntries(findings.map(({ part, text }) => [part, text]))).toMatchObject({
      api: `pawl api at https://localhost:${port} answers: Pawl ${PAWL_VERSION}`,
      identity: expect.stringContaining(
        `pawl api knows you as "system:serviceaccount:${ALICE}:tenant", in groups `,
      ) as unknown,
      cluster: 'pawl api answers for cluster "local"',
    })
    const refused = await pawl(kubeconfigPath, 'doctor', '-o', 'json', '--api-url', 'https://localhost:1')
    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('check the address of pawl api and your token') as unknown,
    })
  })

  it('gets an HTTP error for an invalid token, a missing permission and an invalid question', async () => {
    expect(await ask('followedKinds', {}, undefined)).toMatchObject({ status: 401, body: { kind: 'Status' } })
    expect(await ask('followedKinds', {}, 'nonsense')).toMatchObject({ status: 401 })
    expect(await ask('../../api', {}, ofAlice)).toMatchObject({ status: 404 })
    expect(await ask('eventsOf', { uid: 'u', most: 1e9 }, ofAlice)).toMatchObject({ status: 400 })
    expect(await ask('eventsOf', { uid: 'u'.repeat(2 ** 21) }, ofAlice)).toMatchObject({ status: 413 })
    expect(await ask('listObjects', { ...KIND, namespace: BOB }, ofAlice)).toMatchObject({ status: 403 })
  })

  it('gets an answer while many requests have invalid tokens, and pawl api limits the TokenReviews for these tokens', async () => {
    const mark = auditMark(auditLogPath)
    const begun = performance.now()
    const flood = Promise.all(Array.from({ length: 500 }, async (_, index) => await ask(...ANY, `made-up-${index}`)))
    const own = await ask('listObjects', { ...KIND, namespace: ALICE }, ofAlice)
    const told = await flood
    const reviewed = told.findIndex(({ status }) => status === 401)
    const again = await Promise.all(Array.from({ length: 100 }, async () => await ask(...ANY, `made-up-${reviewed}`)))
    const seconds = (performance.now() - begun) / 1000

    expect(own.status).toBe(200)
    const account = `system:serviceaccount:${home.namespace}:pawl-api`
    const reviews = auditedCreations(auditLogPath, mark, 'tokenreviews', account)
    expect(reviews).toBeGreaterThan(0)
    // The initial burst, the TokenReviews during the test, and some for Alice.
    expect(reviews).toBeLessThan(REVIEWS_PER_SECOND * (3 + seconds) + 10)
    const away = told.filter(({ status }) => status === 429)
    // Each token was reviewed or refused. A busy API server may not answer a TokenReview in time: 503.
    expect(told.filter(({ status }) => ![401, 429, 503].includes(status ?? 0))).toEqual([])
    expect(away.length).toBeGreaterThanOrEqual(500 - reviews)
    const message = expect.stringContaining('too many new tokens') as unknown
    expect(away[0]?.body).toMatchObject({ kind: 'Status', reason: 'TooManyRequests', code: 429, message })
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([401]))
  })

  it('gets answers through the proxy of the API server, and no more answers after its RoleBinding is deleted', async () => {
    const through = await throughService(HOST)
    const told = async () => await pawl(ofAlice, 'get', 'inst', '-n', ALICE, ...through)
    await expect.poll(async () => (await told()).stdout).toMatch(/^shop +Failed/m)
    await alice.kube.request('DELETE', `${RBAC}/namespaces/${ALICE}/rolebindings/tenant`)
    await expect.poll(async () => (await told()).stderr).toContain(`you may not list Installation.${GROUP}`)
  })
})

/** Creates the Service, and gives the tenant the permission to use its proxy. @returns the flags for this way. */
async function throughService(host: string): Promise<readonly string[]> {
  const metadata = { name: 'pawl-api' }
  await post(alice, '/api/v1', 'services', { metadata, spec: { ports: [{ name: 'https', port: 443 }] } })
  await lead('pawl-api', host)
  const through = ['--api-service', `${ALICE}/pawl-api`]
  expect((await pawl(ofAlice, 'get', 'inst', '-n', ALICE, ...through)).stderr).toContain('services/proxy')
  const resources = ['services/proxy']
  const rules = [{ apiGroups: [''], resources, resourceNames: ['https:pawl-api:443'], verbs: ['create'] }]
  await post(alice, RBAC, 'roles', { metadata: { name: 'asking' }, rules })
  await bind(alice, 'asking', { kind: 'Role', name: 'asking' }, 'tenant')
  return through
}

/**
 * Creates Endpoints that route to this test's pawl api. API servers proxy only to addresses of Pods, so this function
 * creates a Pod that no scheduler binds, and gives it the machine's address.
 */
async function lead(name: string, ip: string): Promise<void> {
  const spec = { schedulerName: 'nobody', containers: [{ name: 'api', image: 'example.com/api' }] }
  await post(alice, '/api/v1', 'pods', { metadata: { name }, spec })
  const status = { podIP: ip, podIPs: [{ ip }] }
  await alice.kube.request('PATCH', `/api/v1/namespaces/${ALICE}/pods/${name}/status`, {
    body: { status },
    contentType: 'application/merge-patch+json',
  })
  const targetRef = { kind: 'Pod', namespace: ALICE, name }
  const subsets = [{ addresses: [{ ip, targetRef }], ports: [{ name: 'https', port }] }]
  await post(alice, '/api/v1', 'endpoints', { metadata: { name }, subsets })
}

const REVIEWS_PER_SECOND = 10
const ANY = ['followedKinds', {}] as const
const KIND = { group: GROUP, kind: 'Installation' }

async function post({ kube, namespace }: Cluster, base: string, plural: string, body: object): Promise<void> {
  await kube.request('POST', `${base}/namespaces/${namespace}/${plural}`, { body })
}

async function bind(of: Cluster, name: string, role: { kind: string; name: string }, account: string): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', ...role }
  const body = {
    metadata: { name },
    roleRef,
    subjects: [{ kind: 'ServiceAccount', namespace: of.namespace, name: account }],
  }
  const place = role.kind === 'Role' ? `/namespaces/${of.namespace}/rolebindings` : '/clusterrolebindings'
  await of.kube.request('POST', `${RBAC}${place}`, { body })
}

/** Creates a ServiceAccount that may read Pawl's kinds in the namespace. @returns the path of its kubeconfig. */
async function tenant(cluster: Cluster): Promise<string> {
  const rules = [{ apiGroups: [GROUP], resources: ['*'], verbs: ['get', 'list'] }]
  await post(cluster, RBAC, 'roles', { metadata: { name: 'tenant' }, rules })
  await bind(cluster, 'tenant', { kind: 'Role', name: 'tenant' }, 'tenant')
  return await makeAccount(inject('servers'), cluster, 'tenant')
}

const READER = `reader_${process.pid}`

/** Creates a read-only role with the statements of docs/guides/journal-api.md. @returns the journal's URL for this role. */
async function readersUrl(): Promise<string> {
  const page = await readFile(new URL('../../docs/guides/journal-api.md', import.meta.url), 'utf8')
  const [, statements = ''] = /<<'SQL'\n([^]*?)SQL\n/.exec(page) ?? []
  expect(statements).toContain('create role pawl_api')
  await asAdmin(test.url, statements.replaceAll('pawl_api', READER).replace('CHANGE-ME', READER))
  const url = new URL(test.url)
  ;[url.username, url.password] = [READER, READER]
  return url.href
}

async function pawl(kubeconfig: string, ...words: readonly string[]) {
  return await runPawl(words, environment(kubeconfig))
}

function environment(kubeconfig: string) {
  return { KUBECONFIG: kubeconfig, NODE_EXTRA_CA_CERTS: authority, PAWL_DATABASE_URL: '' }
}

/** @param who the path of a kubeconfig, an invalid token, or undefined for no token. */
async function ask(question: string, input: object, who: string | undefined) {
  const text = who === undefined || !who.startsWith('/') ? who : tokenIn(await readFile(who, 'utf8'))
  const options = {
    method: 'POST',
    path: `/v1/ask/${question}`,
    port,
    host: 'localhost',
    ca: await readFile(authority),
  }
  const headers = text === undefined ? {} : { authorization: `Bearer ${text}` }
  return await new Promise<{ status: number | undefined; body: unknown }>((done) => {
    const failed = () => done({ status: undefined, body: undefined })
    const sent = request({ ...options, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', failed)
      response.on('end', () =>
        done({ status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) as unknown }),
      )
    })
    sent.on('error', failed)
    sent.end(JSON.stringify(input))
  })
}

function tokenIn(kubeconfig: string): string {
  return (JSON.parse(kubeconfig) as { readonly users: readonly [{ readonly user: { readonly token: string } }] })
    .users[0].user.token
}
