// `pawl gen`: writes what derives from the kinds: deploy/crds, deploy/rbac and workflows/index.ts.
// `--check` changes nothing and exits 1 with a summary when something is stale.

import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { crdFileName, crdYaml } from './gen/crd.ts'
import { readKindFolders } from './gen/kind-folders.ts'
import { compareFiles, type GeneratedFiles, writeFiles } from './gen/output.ts'
import { bridgeRoleYaml, workerRoleYaml } from './gen/rbac.ts'
import { workflowIndex } from './gen/workflow-index.ts'

const CRDS = 'deploy/crds'
const RBAC = 'deploy/rbac'

export interface GenOptions {
  /** The checkout to read from and write to. */
  readonly root: string
  readonly check: boolean
  readonly print: (line: string) => void
}

/** Generates, or checks; returns the exit code: 0 when all is up to date, 1 when a check found something stale. */
export async function gen({ root, check, print }: GenOptions): Promise<0 | 1> {
  const files = await generatedFiles(root)
  const differences = await compareFiles(root, files, [CRDS, RBAC])
  for (const { path, state, detail } of differences)
    print(check ? `${state}: ${path}: ${detail}` : `${verb(state)} ${path}`)
  if (check) {
    if (differences.length > 0) print('run `pawl gen` and commit the result')
    return differences.length > 0 ? 1 : 0
  }
  await writeFiles(root, files, differences)
  return 0
}

async function generatedFiles(root: string): Promise<GeneratedFiles> {
  const folders = await readKindFolders(root)
  const kinds = folders.flatMap((folder) => folder.kinds)
  return new Map([
    ...folders.flatMap(({ folder, kinds }) =>
      kinds.map((kind) => [`${CRDS}/${crdFileName(kind)}`, crdYaml(kind, folder)] as const),
    ),
    [`${RBAC}/bridge.yaml`, bridgeRoleYaml(kinds)],
    [`${RBAC}/worker.yaml`, workerRoleYaml(kinds)],
    ['workflows/index.ts', workflowIndex(folders)],
  ])
}

function verb(state: 'missing' | 'stale' | 'unwanted'): string {
  return state === 'unwanted' ? 'removed' : 'wrote'
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  process.exitCode = await gen({ root, check: values.check, print: console.log })
}
