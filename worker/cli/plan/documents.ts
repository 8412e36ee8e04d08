// The objects of manifests, from files and stdin, each with the place where it stands.

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { exactInteger } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'

export interface Document {
  /** Such as `shop.yaml, document 2`. */
  readonly at: string
  readonly object: KubeObject & { readonly apiVersion: string; readonly kind: string }
}

/** As one file may reasonably hold. */
const MOST_DOCUMENTS = 1000

/** @param files `-` is stdin. @throws UsageError with all that is wrong, each with its place; values are not quoted. */
export async function readDocuments(files: readonly string[]): Promise<readonly Document[]> {
  const problems: string[] = []
  const found: Document[] = []
  for (const file of files) {
    const name = file === '-' ? 'stdin' : file
    const content = await contentOf(file)
    if (content === undefined) problems.push(`${name}: found no file that can be read, expected manifests`)
    else found.push(...documentsIn(name, content, problems))
  }
  if (found.length > MOST_DOCUMENTS)
    problems.push(`found ${found.length} objects, expected at most ${MOST_DOCUMENTS} in one plan`)
  if (found.length === 0 && problems.length === 0) problems.push(`found no object in ${files.join(', ')}, expected one`)
  if (problems.length > 0) throw new UsageError(problems.join('\n'))
  return found
}

async function contentOf(file: string): Promise<string | undefined> {
  if (file === '-') return await text(process.stdin)
  return await readFile(file, 'utf8').catch(() => undefined)
}

/** Problems are added to the list. */
export function documentsIn(name: string, content: string, problems: string[]): readonly Document[] {
  const parsed = parseAllDocuments(content, { logLevel: 'silent', intAsBigInt: true })
  const many = parsed.length > 1
  return (Array.isArray(parsed) ? parsed : []).flatMap((one, index) => {
    const at = many ? `${name}, document ${index + 1}` : name
    const [error] = one.errors
    if (error !== undefined) {
      const [where] = error.linePos ?? []
      problems.push(`${at}: line ${where?.line ?? 0}, column ${where?.col ?? 0}: no YAML (${error.code})`)
      return []
    }
    const value: unknown = one.toJS({
      maxAliasCount: 100,
      reviver: (_key, found) => (typeof found === 'bigint' ? exactInteger(found) : found),
    })
    return value === null || value === undefined ? [] : objectsIn(at, value, problems)
  })
}

function objectsIn(at: string, value: unknown, problems: string[]): readonly Document[] {
  const fields = isFields(value) ? value : {}
  const { apiVersion, kind, metadata, items } = fields
  if (kind === 'List' && Array.isArray(items))
    return items.flatMap((item, index) => objectsIn(`${at}, items[${index}]`, item, problems))
  const name = isFields(metadata) ? metadata['name'] : undefined
  const missing = Object.entries({ apiVersion, kind, 'metadata.name': name }).filter(
    ([, found]) => typeof found !== 'string' || found === '',
  )
  if (missing.length === 0) return [{ at, object: fields as unknown as Document['object'] }]
  problems.push(`${at}: found no ${missing.map(([field]) => field).join(', no ')}; expected an object of Kubernetes`)
  return []
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
