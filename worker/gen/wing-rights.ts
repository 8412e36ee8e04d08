// The rights of the wings that Pawl ships, from `deploy/rbac/`, for who wants them in other roles than those: Roles of single namespaces.

import { readdir, readFile } from 'node:fs/promises'
import { parse } from 'yaml'

import type { AccessRule } from '../../workflows/kit/index.ts'
import type { Right } from './level-rbac.ts'
import { ENGINE_RULES } from './rbac.ts'

const ROLES = new URL('../../deploy/rbac/', import.meta.url)

/** What bridge and worker need for these wings, beside what they work on. @throws a plain Error that names a wing which is none, and those there are. */
export async function wingRights(wings: readonly string[]): Promise<readonly Right[]> {
  const entries = await readdir(ROLES, { withFileTypes: true })
  const known = entries.filter((one) => one.isDirectory()).map((one) => one.name)
  const unknown = wings.find((wing) => !known.includes(wing))
  if (unknown !== undefined) throw new Error(`no wing is called "${unknown}", expected ${known.join(' or ')}`)
  const engine = ENGINE_RULES.map((rule): Right => ({ process: 'worker', place: 'beside the target', rule }))
  const found = await Promise.all(
    wings.flatMap((wing) => (['bridge', 'worker'] as const).map((process) => rightsIn(wing, process))),
  )
  return [...engine, ...found.flat()]
}

async function rightsIn(wing: string, process: Right['process']): Promise<readonly Right[]> {
  const text = await readFile(new URL(`${wing}/${process}.yaml`, ROLES), 'utf8')
  const { rules } = parse(text) as { readonly rules: readonly AccessRule[] }
  return rules.map((rule) => ({ process, place: 'beside the target', rule }))
}
