// Runs a worker module in a child process instead of a worker thread (bounded-thread.ts), for code that is generated from tenants' input. A thread
// has all rights of its process: it can read files and tokens, open connections and end other processes. The child process can read only the modules
// that it runs, and its environment is empty. It drops by itself the rights for which Node has no flag (sealed-process.ts).
//
//   B1. The child process ends with its parent, however the parent ends: it exits when its IPC channel closes, and a timer of its own interrupts work
//       in progress.

import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { extname, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createBoundedThread, wallClock, HEAP_LIMIT_MIB, type BoundedThread } from './bounded-thread.ts'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'

/** The child process imports modules of the wing, the YAML reader, and these leaf modules of the kit. */
const KIT_MODULES = ['exact-json', 'json-fields', 'shorten-list'].map(
  (name) => `../../../workflows/kit/kind/${name}${extname(import.meta.filename)}`,
)
const MODULES = ['../', '../../yaml/', ...KIT_MODULES].map((module) => fileURLToPath(new URL(module, import.meta.url)))

/** Schemas may be nested as deeply as in a thread; most systems limit a stack to 8 MiB. */
const STACK_KIB = 3800

/** The message that carries one request to the child process. */
export interface SealedRequest {
  readonly text: string
  readonly timeoutMs: number
}

/**
 * Starts a child process that runs `file`, a module of this wing that calls `serveSealed`. Requests are texts, replies JSON values. An idle child
 * process does not keep the parent alive.
 *
 * @param packages npm packages that the module, and the wing's modules that it imports, need.
 */
export function startProcess(file: URL, packages: readonly string[]): BoundedThread {
  return createBoundedThread(({ message, end }) => {
    const path = fileURLToPath(file)
    const child = fork(path, [], {
      cwd: '/',
      env: {},
      execArgv: [...FLAGS, ...modulePaths(path, MODULES, packages).map((each) => `--allow-fs-read=${each}`)],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'json',
    })
    const stderr = child.stderr as Socket | null
    let [hasExited, isReady, output] = [false, false, '']
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Later output may contain text of a tenant.
      if (!isReady) output = `${output}${text}`.slice(0, MAX_OUTPUT)
    })
    const exited = new Promise<void>((resolve) => {
      // The event `exit` may precede the last output.
      child.once('close', (code, signal) => {
        hasExited = true
        const isOutOfMemory = signal === 'SIGABRT' || code === ABORTED_EXIT_CODE
        end(isOutOfMemory ? 'memory' : 'crash', describeExit({ code, signal, output: isReady ? '' : output }))
        resolve()
      })
      child.on('error', (error) => {
        // A child with a pid emits `error` for a message that was not sent; its `close` event follows.
        if (child.pid !== undefined) return
        hasExited = true
        end('crash', `did not start: ${error.message}`)
        resolve()
      })
    })
    child.on('message', (reply) => {
      isReady = true
      message(reply)
    })
    return {
      post: (text, timeoutMs) => {
        // After the exit no other event would settle the request.
        if (hasExited) queueMicrotask(() => end('crash'))
        else child.send({ text, timeoutMs }, () => undefined)
      },
      // The child process limits itself by the wall clock, too.
      time: wallClock,
      ref: () => {
        child.ref()
        child.channel?.ref()
        stderr?.ref()
      },
      unref: () => {
        child.unref()
        child.channel?.unref()
        stderr?.unref()
      },
      stop: async () => {
        if (hasExited) return
        child.ref()
        stderr?.ref()
        child.kill('SIGKILL')
        await exited
      },
    }
  })
}

interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The standard error of a process that exited before it was ready; otherwise empty. */
  readonly output: string
}

/** Returns the rest of a sentence about the process: how it exited, its error, and the action of the operator. */
export function describeExit({ code, signal, output }: ProcessExit): string {
  if (signal !== null)
    return `was ended by signal ${signal}; if the system killed it for lack of memory, give the worker more memory`
  const exit = `exited with code ${code ?? 'unknown'}`
  const error = /^\w*Error\b.*$/m.exec(output)?.[0]
  const path = /^ *resource: '(.*)'/m.exec(output)?.[1]
  if (path !== undefined)
    return `${exit}: it may not read "${path}", because npm did not install this file into a folder "node_modules" above Pawl's code; replace links to other folders by "npm ci"`
  return `${exit}${error === undefined ? '' : `: ${error}`}; the worker tries again`
}

/** Characters of the standard error that are kept; the error of a module that was not loaded is among the first. */
const MAX_OUTPUT = 4000

/** The exit code of an aborted process on systems without signals. */
const ABORTED_EXIT_CODE = 134

const FLAGS = [
  '--permission',
  // The signal SIGUSR1 would open a debugger port.
  '--disable-sigusr1',
  `--max-old-space-size=${HEAP_LIMIT_MIB}`,
  `--stack-size=${STACK_KIB}`,
  '--disable-warning=ExperimentalWarning',
]

/**
 * The paths that a process must be allowed to read so that Node resolves the modules of a program: the folders in which Node looks for packages, and
 * all symbolic links to them. Returns files and whole folders; no path is inside another one.
 *
 * @param modules folders and files of Pawl's code that the program imports.
 * @throws Error when a package is not installed.
 */
function modulePaths(file: string, modules: readonly string[], packages: readonly string[]): readonly string[] {
  const linkedPaths = packages.flatMap((name) => linkChain(packageFolder(name, file)))
  const searchedPaths = [file, ...modules, ...linkedPaths].flatMap((path) =>
    ancestors(path).flatMap((folder) => [join(folder, 'node_modules'), join(folder, 'package.json')]),
  )
  return outermost([file, ...modules.map((module) => resolve(module)), ...searchedPaths])
}

// Node 24 drops the permission for a folder when a path inside it has a permission, too.
function outermost(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path) => !paths.some((other) => path.startsWith(other + sep)))
}

function packageFolder(name: string, file: string): string {
  const folders = createRequire(file).resolve.paths(name) ?? []
  const packagePath = folders.map((folder) => join(folder, name)).find((candidate) => existsSync(candidate))
  if (packagePath === undefined)
    throw new Error(`package ${name}: found none above ${file}; expected it to be installed`)
  return packagePath
}

/** The path itself, and the paths after resolving each symbolic link in turn: Node reads all of them. */
function linkChain(path: string): readonly string[] {
  const parts = path.split(sep)
  for (let length = 2; length <= parts.length; length++) {
    const prefix = parts.slice(0, length).join(sep)
    if (!lstatSync(prefix).isSymbolicLink()) continue
    const target = resolve(dirname(prefix), readlinkSync(prefix))
    return [path, ...linkChain(join(target, ...parts.slice(length)))]
  }
  return [path]
}

function ancestors(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [] : [folder, ...ancestors(folder)]
}
