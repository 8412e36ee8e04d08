// Reads objects from manifest files and stdin, each with its position for messages.

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { FILE_LIMITS, parseYamlDocuments, YamlError } from '../../../activities/yaml/read-yaml.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isFields } from '../../../workflows/kit/index.ts'

export interface Document {
  /** Such as `shop.yaml, document 2`. */
  readonly at: string
  readonly object: KubeObject & { readonly apiVersion: string; readonly kind: string }
}

/** Maximum for one plan. */
const MOST_DOCUMENTS = 1000

/** @param files `-` is stdin. @throws UsageError that lists all problems with their positions, without values. */
export async function readDocuments(files: readonly string[]): Promise<readonly Document[]> {
  const problems: string[] = []
  const found: Document[] = []
  for (const file of files) {
    const name = file === '-' ? 'stdin' : file
    const content = await contentOf(file)
    if (content === undefined) problems.push(`${name}: the file cannot be read; check its path and permissions`)
    else found.push(...documentsIn(name, content, problems))
  }
  if (found.length > MOST_DOCUMENTS)
    problems.push(
      `${files.join(', ')}: ${found.length} objects; a plan can have at most ${MOST_DOCUMENTS}: use fewer files`,
    )
  if (found.length === 0 && problems.length === 0)
    problems.push(`${files.join(', ')}: no objects; add at least one manifest`)
  if (problems.length > 0) throw new UsageError(problems.join('\n'))
  return found
}

async function contentOf(file: string): Promise<string | undefined> {
  if (file === '-') return await text(process.stdin)
  return await readFile(file, 'utf8').catch(() => undefined)
}

/** Problems are added to the list. */
export function documentsIn(name: string, content: string, problems: string[]): readonly Document[] {
  const parsed = parseYamlDocuments(content, { limits: FILE_LIMITS })
  const many = parsed.length > 1
  return parsed.flatMap((one, index) => {
    const at = many ? `${name}, document ${index + 1}` : name
    if (one instanceof YamlError) {
      problems.push(`${at}: line ${one.line}, column ${one.column}: invalid YAML: ${one.reason}`)
      return []
    }
    const { value } = one
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
  problems.push(
    `${at}: ${missing.map(([field]) => field).join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing; expected a Kubernetes object`,
  )
  return []
}
