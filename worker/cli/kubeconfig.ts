// Reads the user's kubeconfig files as kubectl does, and the namespace of the selected context.

import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'

import type { Config } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { expectedName } from './suggestion.ts'
import { isFields } from '../../workflows/kit/index.ts'

export interface ContextFlags {
  readonly namespace?: string
  readonly context?: string
  readonly kubeconfig?: string
}

interface KubeconfigFile {
  readonly path: string
  readonly content: unknown
}

/**
 * Returns the value of `-n` without reading a kubeconfig if no other flag selects one.
 *
 * @throws UsageError for an unreadable kubeconfig and for an unknown context, also together with `-n`.
 */
export async function namespaceOf(flags: ContextFlags, config: Pick<Config, 'kubeconfig'>): Promise<string> {
  const { namespace, context, kubeconfig } = flags
  if (namespace !== undefined && context === undefined && kubeconfig === undefined) return namespace
  const files = await readKubeconfigs(flags, config)
  const found = namespaceIn(
    files.map(({ content }) => content),
    context,
  )
  return namespace ?? found
}

/**
 * The file of the flag, which must exist; else the existing files of the variable; else the file in the home folder.
 */
export async function readKubeconfigs(
  { kubeconfig }: ContextFlags,
  config: Pick<Config, 'kubeconfig'>,
): Promise<readonly KubeconfigFile[]> {
  if (kubeconfig !== undefined) return [{ path: kubeconfig, content: await readKubeconfig(kubeconfig) }]
  const files = config.kubeconfig?.split(delimiter) ?? [join(homedir(), '.kube', 'config')]
  const read = await Promise.all(
    files.map(async (path) => {
      const text = await readFile(path, 'utf8').catch(() => undefined)
      return text === undefined ? [] : [{ path, content: await parsed(path, text) }]
    }),
  )
  return read.flat()
}

async function readKubeconfig(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code = 'unknown error' } = error as { readonly code?: string }
    throw new UsageError(`--kubeconfig: file "${file}" cannot be read (${code})`)
  })
  return await parsed(file, text)
}

async function parsed(file: string, text: string): Promise<unknown> {
  const { FILE_LIMITS, readYaml } = await import('../../activities/yaml/read-yaml.ts')
  try {
    return readYaml(text, { limits: FILE_LIMITS })
  } catch {
    // The parser's message quotes the file, which may contain a key.
    throw new UsageError(`kubeconfig "${file}" is not valid YAML`)
  }
}

/**
 * The namespace of a context. If several files define the context, the first one counts. @throws UsageError for an
 * unknown context.
 */
export function namespaceIn(files: readonly unknown[], contextName: string | undefined): string {
  const namespace = contextIn(files, contextName)?.context?.namespace
  return namespace === undefined || namespace === '' ? 'default' : namespace
}

/** The first readable file that contains the selected context; undefined when no file contains it. */
export async function contextFile(
  flags: Pick<ContextFlags, 'context' | 'kubeconfig'>,
  config: Pick<Config, 'kubeconfig'>,
): Promise<string | undefined> {
  const files = await readKubeconfigs(flags, config).catch(() => [])
  const all = files.map(({ content }) => content)
  const context = tryContextIn(all, flags.context)
  return files.find(({ content }) => context !== undefined && contextsOf(content).includes(context))?.path
}

function contextsOf(content: unknown): readonly NamedContext[] {
  return isFields(content) ? ((content as Content).contexts ?? []) : []
}

function tryContextIn(files: readonly unknown[], contextName: string | undefined): NamedContext | undefined {
  try {
    return contextIn(files, contextName)
  } catch (error) {
    if (error instanceof UsageError) return undefined
    throw error
  }
}

function contextIn(files: readonly unknown[], contextName: string | undefined): NamedContext | undefined {
  const configs = files.filter(isFields) as readonly Content[]
  const contexts = configs.flatMap((one) => one.contexts ?? [])
  const current =
    contextName ?? configs.map((one) => one['current-context']).find((name) => name !== undefined && name !== '')
  const context = contexts.find(({ name }) => name === current)
  if (context === undefined && contextName !== undefined)
    throw new UsageError(
      `context "${contextName}" does not exist in the kubeconfig; ${expectedName(
        contextName,
        contexts.map(({ name }) => name),
      )}`,
    )
  return context
}

/**
 * Merges the files into one kubeconfig with one context, because clients accept one file only. @throws UsageError for
 * an unknown context.
 */
export function kubeconfigText(files: readonly KubeconfigFile[], contextName: string | undefined): string {
  const contents = files.map(({ content }) => content)
  const context = contextIn(contents, contextName)
  if (context === undefined) {
    const paths = files.map(({ path }) => `"${path}"`).join(', ')
    throw new UsageError(
      files.length === 0
        ? 'no kubeconfig was found; run the export lines that pawl dev printed, or pass --kubeconfig or --data-dir'
        : `kubeconfig ${paths}: current-context is missing or names no context; pass --context`,
    )
  }
  const whole = files.map(({ path, content }) => absolute(content, dirname(resolve(path))))
  const all = (list: string) => whole.flatMap((one) => (Array.isArray(one[list]) ? (one[list] as unknown[]) : []))
  // For a name that occurs twice, the first entry counts, as for kubectl.
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context.name,
    contexts: all('contexts'),
    clusters: all('clusters'),
    users: all('users'),
  })
}

const FILES: ReadonlySet<string> = new Set([
  ...['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'],
])

/** Resolves file paths relative to the kubeconfig's folder. */
function absolute(content: unknown, folder: string): Readonly<Record<string, unknown>> {
  const walk = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return FILES.has(key) && value !== '' ? resolve(folder, value) : value
    if (Array.isArray(value)) return value.map((one) => walk(one, ''))
    if (!isFields(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, below]) => [name, walk(below, name)]))
  }
  return isFields(content) ? (walk(content, '') as Readonly<Record<string, unknown>>) : {}
}

interface NamedContext {
  readonly name: string
  readonly context?: { readonly namespace?: string; readonly user?: string; readonly cluster?: string }
}

interface Content {
  readonly 'current-context'?: string
  readonly contexts?: readonly NamedContext[]
}
