// Compiles files in memory with TypeScript's compiler and the project's flags.

import { join } from 'node:path'

import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../../../..')

/** What the compiler says of these texts, by path from the root of the checkout; they hide files of their names. */
export function compilerErrors(files: ReadonlyMap<string, string>): readonly string[] {
  const texts = new Map([...files].map(([path, text]) => [join(ROOT, path), text]))
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: object
  }
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const [read, exists, isFolder] = [
    host.readFile.bind(host),
    host.fileExists.bind(host),
    (path: string) => ts.sys.directoryExists(path),
  ]
  host.readFile = (path) => texts.get(path) ?? read(path)
  host.fileExists = (path) => texts.has(path) || exists(path)
  host.directoryExists = (path) => isFolder(path) || [...texts.keys()].some((file) => file.startsWith(`${path}/`))
  const program = ts.createProgram([...texts.keys()], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    return `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}
