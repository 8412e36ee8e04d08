// Finds kinds and workflows in the folders of the wings in `workflows/`, for generators and drawings. A folder registers a kind; there is no list.

import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { Kind } from '../../workflows/kit/index.ts'

// The published package has JavaScript where the checkout has TypeScript.
const EXTENSION = extname(import.meta.filename)

export interface KindFolder {
  /** The wing of the folder, such as `landscaper`. */
  readonly wing: string
  /** Path of the folder below `workflows/`, such as `landscaper/deploy-item`. */
  readonly folder: string
  /** The kinds that its kind.ts exports. */
  readonly kinds: readonly Kind[]
  /** The functions that its workflow.ts exports; empty without one. */
  readonly workflows: readonly string[]
}

/** Reads all kind folders below `root`, ordered by name. */
export async function readKindFolders(root: string): Promise<readonly KindFolder[]> {
  const workflows = join(root, 'workflows')
  return await Promise.all(
    (await kindFolders(workflows)).map(async (folder) => ({
      wing: folder.slice(0, folder.indexOf('/')),
      folder,
      kinds: await readKinds(join(workflows, folder)),
      workflows: await readWorkflowNames(join(workflows, folder)),
    })),
  )
}

/** The kind folders that have a file of this name, ordered. */
export async function foldersWith(root: string, file: string): Promise<readonly string[]> {
  const workflows = join(root, 'workflows')
  const found = await Promise.all(
    (await kindFolders(workflows)).map(async (folder) => ({ folder, names: await readdir(join(workflows, folder)) })),
  )
  return found.filter(({ names }) => names.includes(file)).map(({ folder }) => folder)
}

async function kindFolders(workflows: string): Promise<readonly string[]> {
  const wings = (await foldersIn(workflows)).filter((name) => name !== 'kit')
  const found = await Promise.all(
    wings.map(async (wing) => (await foldersIn(join(workflows, wing))).map((folder) => `${wing}/${folder}`)),
  )
  return found.flat().sort()
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

async function readKinds(folder: string): Promise<readonly Kind[]> {
  if (!(await readdir(folder)).includes(`kind${EXTENSION}`)) return []
  const module = (await import(pathToFileURL(join(folder, `kind${EXTENSION}`)).href)) as Record<string, unknown>
  return Object.values(module).filter(isKind)
}

// Parsed, not imported: a workflow module runs only inside the sandbox.
async function readWorkflowNames(folder: string): Promise<readonly string[]> {
  if (!(await readdir(folder)).includes(`workflow${EXTENSION}`)) return []
  return workflowNames(await readFile(join(folder, `workflow${EXTENSION}`), 'utf8'))
}

/** The names of the functions that a workflow module exports, ordered. */
function workflowNames(source: string): readonly string[] {
  const exported = /^export (?:async )?(?:function|const) (\w+)/gm
  return [...source.matchAll(exported)].flatMap(([, name]) => name ?? []).sort()
}

/** Whether a value was made by `defineKind`, in any copy of the kit. */
export function isKind(value: unknown): value is Kind {
  return typeof value === 'object' && value !== null && 'plural' in value && 'apiVersion' in value && 'schema' in value
}
