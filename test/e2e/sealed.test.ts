// Temporal over mTLS with an API key, a separate Temporal namespace and encrypted payloads: the histories on the server show no content of the objects.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { defineSearchAttributeKey } from '@temporalio/common'
import { NativeConnection } from '@temporalio/worker'
import type { temporal } from '@temporalio/proto'
import { afterAll, describe, expect, inject, it, vi } from 'vitest'

import { silenceSdkLogs } from '../../worker/cli/replay/record.ts'
import { addAttributes } from '../../worker/migrate.ts'
import { readPayloadKeys, encryptionCodec } from '../../worker/reconciler/temporal/payload-codec.ts'
import { connectionOptions } from '../../worker/server/temporal.ts'
import { Authority } from '../support/servers/certificates.ts'
import { CHAIN, installation } from '../support/cluster/cluster.ts'
import { HttpProxy } from '../support/faults/http-proxy.ts'
import { useStage } from '../support/pawl/stage.ts'

const PAWL = new URL('../../worker/pawl.js', import.meta.url).pathname
// The SDK has one runtime per process. Other test files of this process run `pawl replay`, which installs it.
silenceSdkLogs()
const EXAMPLE = new URL('../../examples/cronjob/', import.meta.url).pathname
const SHOWN = ['PawlKind', 'PawlName', 'PawlOutcome'].map((name) => defineSearchAttributeKey(name, 'KEYWORD'))
const PLANTED = `planted-${randomBytes(6).toString('hex')}`
const folder = mkdtempSync(join(tmpdir(), 'pawl-sealed-'))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const keys = file('payload.key', `test ${randomBytes(32).toString('base64')}\n`)
const authority = await Authority.make('an authority')
const server = await authority.issue('temporal.example')
const own = await authority.issue('pawl')
const stranger = await (await Authority.make('another authority')).issue('temporal.example')
const ca = file('ca.pem', authority.cert)
const pair = { cert: file('own.pem', own.cert), key: file('own.key', own.key) }
const apiKey = randomBytes(16).toString('hex')
const apiKeyFile = file('api.key', `${apiKey}\n`)
const ofServer = { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, rejectUnauthorized: true }
/** The paths of accepted calls, and of calls without the key. */
const [calls, refusals]: [string[], string[]] = [[], []]
// Source: the status UNAUTHENTICATED of gRPC.
const NO_SUCH_KEY = { 'content-type': 'application/grpc', 'grpc-status': '16', 'grpc-message': 'no such key' }
const proxy = await HttpProxy.toGrpc(inject('servers').temporalAddress, ofServer, (path, { authorization }) => {
  const isKnown = authorization === `Bearer ${apiKey}`
  ;(isKnown ? calls : refusals).push(path)
  return isKnown ? undefined : { status: 200, headers: NO_SUCH_KEY }
})
const namespace = `sealed-${randomBytes(4).toString('hex')}`
const target = { address: proxy.address, namespace, tls: { ca, pair, serverName: 'temporal.example' } }
const connection = await Connection.connect(connectionOptions({ ...target, apiKey: { path: apiKeyFile } }))
afterAll(async () => {
  await connection.close()
  await proxy.stop()
})

/** As `pawl migrate up` does in a namespace that is there. */
async function prepareNamespace(): Promise<void> {
  const workflowExecutionRetentionPeriod = { seconds: 86_400 as never }
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
  // Temporal takes a moment to know a namespace everywhere.
  await vi.waitFor(async () => await addAttributes(connection, namespace), { timeout: 30_000, interval: 200 })
}

const kubectl = async (...args: readonly string[]) => {
  const { kubectlPath, kubeconfigPath } = inject('servers')
  return await promisify(execFile)(kubectlPath, [`--kubeconfig=${kubeconfigPath}`, '-n', 'sealed', ...args])
}
const stage = useStage('sealed', async () => {
  await kubectl('apply', '--server-side', '-f', `${EXAMPLE}cron-job.crd.yaml`)
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/cronjobs.batch.example.pawl.dev')
  await prepareNamespace()
  const tls = ['--temporal-tls-ca', ca, '--temporal-tls-cert', pair.cert, '--temporal-tls-key', pair.key]
  const own = ['--temporal-namespace', namespace, '--temporal-api-key-file', apiKeyFile]
  const address = ['--temporal-address', proxy.address, '--temporal-tls-server-name', 'temporal.example']
  const workerFlags = [...address, ...tls, ...own]
  return { controllers: `${EXAMPLE}controllers.ts`, workerFlags: [...workerFlags, '--payload-key', keys] }
})

/** All payloads of a run's history, and the rest of it as text. */
async function historyOf(name: string) {
  const { workflow_id } = await stage.pawl.db
    .selectFrom('job')
    .select('workflow_id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  const history = await new Client({ connection, namespace }).workflow.getHandle(workflow_id).fetchHistory()
  const payloads: temporal.api.common.v1.IPayload[] = []
  const texts: string[] = []
  const walk = (value: unknown): void => {
    if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('latin1'))
    else if (typeof value === 'string') texts.push(value)
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
    if ('data' in value && 'metadata' in value) payloads.push(value as temporal.api.common.v1.IPayload)
    for (const [key, child] of Object.entries(value)) {
      texts.push(key)
      walk(child)
    }
  }
  walk(history)
  return { payloads, text: texts.join('\n') }
}

async function opened(payloads: readonly temporal.api.common.v1.IPayload[]): Promise<string> {
  const found = await encryptionCodec(readPayloadKeys(keys)).decode([...payloads])
  return found.map(({ data }) => Buffer.from(data ?? []).toString()).join('\n')
}

/** Of what the controller of a user did. */
async function replay(...flags: readonly string[]) {
  const tls = ['--temporal-tls-ca', ca, '--temporal-tls-cert', pair.cert, '--temporal-tls-key', pair.key]
  const place = ['--temporal-address', proxy.address, '--temporal-tls-server-name', 'temporal.example', ...tls]
  const own = ['--temporal-namespace', namespace, '--temporal-api-key-file', apiKeyFile]
  const words = ['replay', 'cronjobs.batch.example.pawl.dev/hello', '-n', 'sealed', ...place, ...own, ...flags]
  const journal = ['--database-url', stage.pawl.databaseUrl, '--controllers', `${EXAMPLE}controllers.ts`]
  return await new Promise<{ stdout: string; stderr: string }>((done) => {
    execFile(process.execPath, [PAWL, ...words, ...journal], { timeout: 90_000 }, (_, stdout, stderr) =>
      done({ stdout, stderr }),
    )
  })
}

describe('Temporal over TLS with an API key and encrypted payloads', () => {
  it('runs jobs, and stores no readable content of their objects', async () => {
    const before = calls.length
    await stage.cluster.create(installation('shop', CHAIN), 'installations')
    expect((await stage.cluster.waitUntilFinished('shop')).status?.phase).toBe('Succeeded')
    // What a task did is in the history when the task has ended, after the row was closed.
    await expect.poll(async () => (await historyOf('shop')).payloads.length).toBeGreaterThan(3)
    const { payloads, text } = await historyOf('shop')
    expect(text).not.toContain('"subject"')
    expect(await opened(payloads)).toContain('"subject"')
    expect(calls.length).toBeGreaterThan(before)
    expect(refusals).toEqual([])
    // By what people look for runs, a run is found as ever, by its children's names, too.
    const client = new Client({ connection, namespace })
    const found = async (query: string) => {
      const rows = []
      for await (const row of client.workflow.list({ query: `PawlNamespace = 'sealed' and ${query}` })) rows.push(row)
      return rows.map(({ typedSearchAttributes: told }) => SHOWN.map((key) => told.get(key)))
    }
    const told = ['Installation', 'shop', 'Succeeded']
    await expect.poll(async () => await found("PawlName = 'shop' and PawlOutcome = 'Succeeded'")).toEqual([told])
    await expect.poll(async () => await found("PawlTree = 'shop'")).toEqual([told])
  })

  it('runs controllers of users, and stores no readable content of the objects that they read', async () => {
    const container = { name: 'c', image: 'example.org/none', command: [PLANTED] }
    const template = { spec: { restartPolicy: 'Never', containers: [container] } }
    const body = {
      apiVersion: 'batch.example.pawl.dev/v1',
      kind: 'CronJob',
      metadata: { name: 'hello', namespace: 'sealed' },
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template } } },
    }
    await kubectl('apply', '-f', file('hello.yaml', JSON.stringify(body)))
    const passes = async () =>
      await stage.pawl.db.selectFrom('job').select('passes').where('name', '=', 'hello').executeTakeFirst()
    await expect.poll(passes).toMatchObject({ passes: expect.any(Number) as number })
    await expect.poll(async () => await opened((await historyOf('hello')).payloads)).toContain(PLANTED)
    expect((await historyOf('hello')).text).not.toContain(PLANTED)
  })

  it('stores histories that pawl replay can read only with the payload key', async () => {
    const { stdout } = await replay('--payload-key', keys)
    expect(stdout).toMatch(/^CronJob sealed\/hello: unfinished after \d+ pass/)
    expect(stdout).toMatch(/^plan {6}CronJob sealed\/hello$/m)
    expect(stdout).not.toContain(PLANTED)
    expect((await replay()).stderr).toMatch(
      /^pawl: run "cronJob\/\S+": its payloads are encrypted with key "test", but no payload key is configured; set --payload-key or \$PAWL_PAYLOAD_KEY/,
    )
    const other = file('other.key', `other ${randomBytes(32).toString('base64')}\n`)
    expect((await replay('--payload-key', other)).stderr).toContain(
      `its payloads are encrypted with key "test", but --payload-key "${other}" has only key "other"; `,
    )
  })

  it.each([
    ['that trusts another certificate authority', () => ({ ca: file('stranger.pem', stranger.cert), pair })],
    ['that expects another server name', () => ({ ca, pair, serverName: 'elsewhere.example' })],
    ['without a client certificate', () => ({ ca, serverName: 'temporal.example' })],
  ])('gets no connection from a client %s', async (_, tls) => {
    const other = { ...target, apiKey: { key: apiKey }, tls: { serverName: 'temporal.example', ...tls() } }
    await expect(NativeConnection.connect(connectionOptions(other))).rejects.toThrow()
  })

  it('refuses a client with a wrong API key, and a client without an API key', async () => {
    const connecting = [{ ...target, apiKey: { key: 'another' } }, target].map(
      async (other) => await NativeConnection.connect(connectionOptions(other)),
    )
    for (const { status } of await Promise.allSettled(connecting)) expect(status).toBe('rejected')
    expect(refusals).toContain('/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo')
  })
})
