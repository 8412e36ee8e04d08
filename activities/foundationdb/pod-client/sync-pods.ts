// Brings the files of Pods up to date through their sidecars. Source: spec/foundationdb.md 2.14, 4.15.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import { type SidecarClient, sidecarClient, type TlsFiles } from './sidecar-client.ts'

/** The files that the sidecar copies from the ConfigMap. */
export type SidecarFile = 'fdb.cluster' | 'fdbmonitor.conf' | 'ca.pem'

export interface PodFiles {
  /** The name of the Pod. */
  readonly pod: string
  /** Its IP address. */
  readonly host: string
  readonly isTls: boolean
  /** The expected SHA-256 of each file, in hex. */
  readonly files: Readonly<Partial<Record<SidecarFile, string>>>
  /** A file that must be present, such as `bin/7.1.67/fdbserver`. */
  readonly binary?: string | undefined
}

/** `outdated`: the Pod answers but does not have the files yet, usually because its ConfigMap is not updated yet. */
export interface PodFilesResult {
  readonly pod: string
  readonly state: 'current' | 'outdated' | 'unreachable'
  readonly message: string
}

/** Opened by the wing. */
export interface SidecarParts {
  /** Undefined: the worker has no certificates. */
  readonly readTlsFiles: () => Promise<TlsFiles | undefined>
}

const CONCURRENCY = 20

export async function syncPods(
  { pods }: { readonly pods: readonly PodFiles[] },
  context: ActivityContext,
): Promise<readonly PodFilesResult[]> {
  const { parts, signal } = context
  const { readTlsFiles } = parts as SidecarParts
  const tls = pods.some(({ isTls }) => isTls) ? await readTlsFiles() : undefined
  const results: PodFilesResult[] = []
  const waiting = [...pods]
  const work = async () => {
    for (let pod = waiting.shift(); pod !== undefined; pod = waiting.shift()) {
      results.push(await syncPod(pod, tls, signal))
      context.heartbeat()
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, pods.length) }, work))
  return results
}

async function syncPod(
  { pod, host, isTls, files, binary }: PodFiles,
  tls: TlsFiles | undefined,
  signal: AbortSignal,
): Promise<PodFilesResult> {
  if (isTls && tls === undefined)
    return { pod, state: 'unreachable', message: 'the worker has no certificates; set FDB_TLS_CERTIFICATE_FILE' }
  const client = sidecarClient({ host, ...(isTls && tls !== undefined && { tls }) }, signal)
  try {
    const missing = await missingFile(client, files, binary)
    if (missing === undefined) return { pod, state: 'current', message: '' }
    return { pod, state: 'outdated', message: `${missing} is not up to date` }
  } catch (error) {
    signal.throwIfAborted()
    return { pod, state: 'unreachable', message: (error as Error).message }
  }
}

/** Copies files that differ; returns the first that still differs. */
async function missingFile(
  client: SidecarClient,
  files: PodFiles['files'],
  binary: string | undefined,
): Promise<string | undefined> {
  for (const [file, expected] of Object.entries(files)) {
    if ((await client.hashOf(file)) === expected) continue
    await (file === 'fdbmonitor.conf' ? client.copyMonitorConfiguration() : client.copyFiles())
    if ((await client.hashOf(file)) !== expected) return file
  }
  if (binary === undefined || (await client.isPresent(binary))) return undefined
  await client.copyBinaries()
  return (await client.isPresent(binary)) ? undefined : binary
}
