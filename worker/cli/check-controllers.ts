// A mistake in `--wings`, or in a module of `--controllers`, is told by the command at once, in one line, and not by the processes that it starts.

/** @throws with the file, what was found and what was expected. */
export async function checkControllers(controllers: string | undefined, wings?: string): Promise<void> {
  if (controllers === undefined && wings === undefined) return
  // The commands that need none of this start faster without it.
  const { controllerFiles, loadRegistry } = await import('../server/registry.ts')
  const { wingsOn } = await import('../server/wings.ts')
  await loadRegistry(controllerFiles(controllers), wingsOn(wings))
}
