// The namespace that is meant: that of `-n`, else of the kubeconfig's context.

import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { parse } from 'yaml'

import type { Config } from '../../server/config.ts'
import { UsageError } from '../../server/usage-error.ts'

export interface ContextFlags {
  readonly namespace?: string
  readonly context?: string
  readonly kubeconfig?: string
}

/** @throws UsageError for a kubeconfig that was named and is none, and for a context that there is not, also where `-n` says all. */
export async function namespaceOf(flags: ContextFlags, config: Pick<Config, 'kubeconfig'>): Promise<string> {
  const found = namespaceIn(await readKubeconfigs(flags, config), flags.context)
  return flags.namespace ?? found
}

/** As kubectl does: the file of the flag, which must be there, else those of the variable that are, else that of the home folder. */
async function readKubeconfigs(
  { kubeconfig }: ContextFlags,
  config: Pick<Config, 'kubeconfig'>,
): Promise<readonly unknown[]> {
  if (kubeconfig !== undefined) return [await readKubeconfig(kubeconfig)]
  const files = config.kubeconfig?.split(delimiter) ?? [join(homedir(), '.kube', 'config')]
  const read = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file, 'utf8').catch(() => undefined)
      return text === undefined ? [] : [parsed(file, text)]
    }),
  )
  return read.flat()
}

async function readKubeconfig(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code = 'it cannot be read' } = error as { readonly code?: string }
    throw new UsageError(`--kubeconfig is '${file}', found no file there (${code}), expected a kubeconfig`)
  })
  return parsed(file, text)
}

function parsed(file: string, text: string): unknown {
  try {
    return parse(text) as unknown
  } catch {
    // The parser quotes what it read, which may be a key.
    throw new UsageError(`the kubeconfig ${file} is no YAML, expected a kubeconfig`)
  }
}

/** Of the contexts of some kubeconfigs, of which the first that says something is right. @throws UsageError when there is no such context. */
export function namespaceIn(files: readonly unknown[], wanted: string | undefined): string {
  const configs = files.filter((one): one is KubeConfigFile => typeof one === 'object' && one !== null)
  const contexts = configs.flatMap((one) => one.contexts ?? [])
  const current =
    wanted ?? configs.map((one) => one['current-context']).find((name) => name !== undefined && name !== '')
  const context = contexts.find(({ name }) => name === current)
  if (context === undefined && wanted !== undefined)
    throw new UsageError(
      `no context is called '${wanted}', expected one of ${contexts.map(({ name }) => name).join(', ') || 'none'}`,
    )
  const namespace = context?.context?.namespace
  return namespace === undefined || namespace === '' ? 'default' : namespace
}

interface KubeConfigFile {
  readonly 'current-context'?: string
  readonly contexts?: readonly { readonly name: string; readonly context?: { readonly namespace?: string } }[]
}
