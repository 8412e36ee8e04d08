// Helpers for tests of OCI registries: a registry without authentication, servers with any answers, and functions that
// read components from them.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { createRegistries, type Registries } from '../../activities/landscaper/components/registries.ts'
import type {
  CredentialEntry,
  RegistryCredential,
} from '../../activities/landscaper/components/registry-credentials.ts'
import { READ_LIMITS, type ReadLimits } from '../../activities/landscaper/components/registry-cache.ts'
import { resolveComponents } from '../../activities/landscaper/components/resolve-components.ts'
import { resolveResource } from '../../activities/landscaper/render/blueprint/component-scope.ts'
import { data } from '../activities/landscaper/tenant-data.ts'
import { descriptorV2 } from '../support/registries/component-registry.ts'
import { pushComponent, type PushedComponent } from '../support/registries/oci-components.ts'
import { OciRegistry } from '../support/registries/oci-registry.ts'

export const NAME = 'example.com/shop'
export const LISTED = ['127.0.0.1']
/** A registry without authentication; set before the tests. */
export let open: OciRegistry
const ends: (() => Promise<unknown>)[] = []

/** Starts `open` before the tests of the file, and closes after each test what the test has opened. */
export function useOpenRegistry(): void {
  beforeAll(async () => {
    open = await OciRegistry.start()
  }, 600_000)
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })
  afterAll(async () => {
    await open.stop()
  })
}

interface Asking {
  readonly registry: string
  readonly credential?: RegistryCredential
  /** Instead of `credential`: the entries of a pull secret. */
  readonly entries?: readonly CredentialEntry[]
  readonly version?: string
  readonly context?: object
  readonly registries?: Registries
  readonly namespace?: string
}

/** Creates the registry clients of one test; they are closed after the test. */
export function opened(
  limits: Partial<ReadLimits> = {},
  allow: readonly string[] = LISTED,
  now = () => new Date(),
): Registries {
  const registries = createRegistries({ allow, now, limits: { ...READ_LIMITS, waitMs: 30_000, ...limits } })
  ends.push(() => registries.close())
  return registries
}

/** Resolves a component reference as a worker does. */
export async function resolve({ registry, credential, version = '1.0.0', context, namespace = 'n', ...how }: Asking) {
  const { hostname, port } = new URL(registry)
  const entries = how.entries ?? (credential === undefined ? [] : [{ hostname, port, path: '', credential }])
  const registries = how.registries ?? opened()
  return await resolveComponents(data, {
    definition: { ref: { componentName: NAME, version } },
    repositoryContext: { type: 'OCIRegistry', baseUrl: registry, ...context },
    context: 'default',
    registryFolder: undefined,
    registries: () => Promise.resolve(registries.of({ namespace }, [entries])),
  })
}

/** Returns the message of the error, and its code or its type. */
export async function errorOf(work: Promise<unknown>): Promise<{ code?: string; type?: string; message: string }> {
  const error = (await work.then(
    () => new Error('found no failure'),
    (failure: unknown) => failure,
  )) as Error & { code?: string; type?: string }
  return { message: error.message, ...(error.code === undefined ? { type: error.type ?? '' } : { code: error.code }) }
}

let count = 0
/** Pushes a component with a prefix that no other test uses. @returns the prefix. */
export async function pushed(component: Omit<PushedComponent, 'prefix'>): Promise<string> {
  const prefix = `t${++count}`
  await pushComponent(open, { prefix, ...component })
  return prefix
}

export async function contentOf(scope: Awaited<ReturnType<typeof resolve>>, uri: string): Promise<string> {
  const content = await scope.readContent(resolveResource(scope, uri))
  return 'bytes' in content ? `${content.mediaType}: ${content.bytes.toString()}` : 'a folder'
}

/** Starts a server that answers with `answer`. @returns its URL. */
export async function server(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const made: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(made, 'listening')
  ends.push(async () => {
    made.closeAllConnections()
    await new Promise((resolve) => made.close(resolve))
  })
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`
}

/** Forwards the request to the open registry. */
export const passedOn = ({ url = '', headers: { accept = '*/*' } }: IncomingMessage) =>
  fetch(`${open.url}${url}`, { headers: { accept } })

export const plain = descriptorV2(NAME, '1.0.0')
