// Real OCI registries for tests: CNCF's distribution, with or without TLS, and without authentication or with a password or a token. Several registries may share
// a storage, so that a test pushes to a registry without authentication and pulls from another.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { childEnvironment } from '../../../worker/server/config.ts'
import type { Pair } from '../servers/certificates.ts'
import { freePort } from '../servers/free-port.ts'
import { registryBinary } from './registry-binaries.ts'

export const READER = { username: 'reader', password: 'let-me-in' }
// The password of `READER`, hashed with bcrypt.
const HTPASSWD = 'reader:$2b$04$5JCaHbpRTuw4JFM4Qm6.9OhXmEMEvjjHoG5RPqosWmTB/OS1bxgfW\n'

interface RegistryOptions {
  readonly auth?: 'basic' | 'token'
  /** The certificate of `localhost` and its key. Without them, the registry speaks HTTP. */
  readonly tls?: Pair
  /** Another registry, which owns the storage: `stop` of that registry removes it. */
  readonly storageOf?: OciRegistry
}

export class OciRegistry {
  readonly #folder: string
  readonly storage: string
  readonly #child: ChildProcess
  readonly #tokens: TokenServer | undefined
  /** The base URL, with the scheme. */
  readonly url: string

  private constructor(fields: {
    folder: string
    storage: string
    child: ChildProcess
    tokens: TokenServer | undefined
    url: string
  }) {
    this.#folder = fields.folder
    this.storage = fields.storage
    this.#child = fields.child
    this.#tokens = fields.tokens
    this.url = fields.url
  }

  static async start({ auth, tls, storageOf }: RegistryOptions = {}): Promise<OciRegistry> {
    const registry = await registryBinary('registry')
    const folder = mkdtempSync(join(tmpdir(), 'pawl-oci-'))
    const storage = storageOf?.storage ?? join(folder, 'storage')
    const tokens = auth === 'token' ? await TokenServer.start(folder) : undefined
    const port = await freePort()
    const config = {
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: storage }, delete: { enabled: true } },
      http: { addr: `127.0.0.1:${port}`, ...(tls !== undefined && { tls: writePair(folder, tls) }) },
      ...(auth === 'basic' && { auth: { htpasswd: { realm: 'test', path: writeText(folder, 'htpasswd', HTPASSWD) } } }),
      ...(tokens !== undefined && { auth: { token: tokens.settings } }),
    }
    const path = writeText(folder, 'config.yml', JSON.stringify(config))
    const child = spawn(registry, ['serve', path], {
      env: childEnvironment({ OTEL_TRACES_EXPORTER: 'none' }),
      stdio: 'ignore',
    })
    const url = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
    await waitUntilListening(port, child)
    return new OciRegistry({ folder, storage, child, tokens, url })
  }

  /** `127.0.0.1:5000` */
  get host(): string {
    return new URL(this.url).host
  }

  async pushBlob(repository: string, content: Buffer): Promise<string> {
    const digest = digestOf(content)
    const upload = await fetch(`${this.url}/v2/${repository}/blobs/uploads/`, { method: 'POST' })
    const uploadURL = new URL(upload.headers.get('location') ?? '', this.url)
    uploadURL.searchParams.set('digest', digest)
    const headers = { 'content-type': 'application/octet-stream' }
    await expectStatus(201, await fetch(uploadURL, { method: 'PUT', body: new Uint8Array(content), headers }))
    return digest
  }

  async pushManifest(repository: string, reference: string, manifest: Buffer, mediaType = MANIFEST): Promise<void> {
    const url = `${this.url}/v2/${repository}/manifests/${reference}`
    const headers = { 'content-type': mediaType }
    await expectStatus(201, await fetch(url, { method: 'PUT', body: new Uint8Array(manifest), headers }))
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    if (this.#child.exitCode === null && this.#child.kill()) await exited
    this.#tokens?.stop()
    rmSync(this.#folder, { recursive: true })
  }
}

export const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

export function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

async function expectStatus(status: number, response: Response): Promise<void> {
  if (response.status !== status) throw new Error(`the registry answers ${response.status}: ${await response.text()}`)
}

/** @returns the path of the file. */
function writeText(folder: string, name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function writePair(folder: string, { cert, key }: Pair) {
  return { certificate: writeText(folder, 'tls.crt', cert), key: writeText(folder, 'tls.key', key) }
}

async function waitUntilListening(port: number, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    // With TLS, too: the registry answers a plain HTTP request with an error.
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return
    if (child.exitCode !== null) throw new Error(`the registry ended with ${child.exitCode}`)
    if (Date.now() > deadline) throw new Error('the registry does not listen after a minute')
    await sleep(50)
  }
}

/** A server that issues tokens to `READER`, for the requested scope. Source: distribution's token authentication specification. */
class TokenServer {
  readonly #server: Server
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  readonly #folder: string

  private constructor(server: Server, folder: string) {
    this.#server = server
    this.#folder = folder
    server.on('request', ({ url = '', headers }, response) => {
      const expected = `Basic ${Buffer.from(`${READER.username}:${READER.password}`).toString('base64')}`
      const query = new URL(url, 'http://localhost').searchParams
      if (headers.authorization !== expected) response.writeHead(401).end()
      else response.end(JSON.stringify({ token: this.#token(query.get('scope') ?? ''), expires_in: 300 }))
    })
  }

  static async start(folder: string): Promise<TokenServer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TokenServer(server, folder)
  }

  get settings() {
    const realm = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`
    const jwk = { ...this.#keys.publicKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }
    return {
      realm,
      service: 'test',
      issuer: 'test',
      jwks: writeText(this.#folder, 'jwks.json', JSON.stringify({ keys: [jwk] })),
    }
  }

  #token(scope: string): string {
    const [type, name, actions = ''] = scope.split(':')
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: 'test',
      sub: 'reader',
      aud: 'test',
      jti: randomUUID(),
      iat: now,
      nbf: now - 10,
      exp: now + 300,
    }
    const access = [{ type, name, actions: actions.split(',') }]
    const parts = [
      { alg: 'RS256', typ: 'JWT', kid: 'test' },
      { ...claims, access },
    ]
    const body = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${body}.${sign('sha256', Buffer.from(body), this.#keys.privateKey).toString('base64url')}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
