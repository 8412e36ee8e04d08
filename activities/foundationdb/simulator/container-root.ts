// Paths of tools that run for a container on a machine without a kubelet.
//
// FDB_SIM_ROOT names the folder that replaces the file system of the container. Tools read and write absolute paths below
// it, but print them as in the container, so command lines are the same as on a cluster.

import { isAbsolute, join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** The path on this machine. Relative paths and paths that are below the root already do not change. */
export function outsidePath(path: string, env: Env): string {
  const root = env['FDB_SIM_ROOT']
  return root === undefined || !isAbsolute(path) || isBelow(path, root) ? path : join(root, path)
}

/** The path in the container. */
export function insidePath(path: string, env: Env): string {
  const root = env['FDB_SIM_ROOT']
  return root !== undefined && isBelow(path, root) ? path.slice(root.length) : path
}

function isBelow(path: string, root: string): boolean {
  return path.startsWith(root.endsWith('/') ? root : `${root}/`)
}
