/** Copies a text; false if the browser does not let a page do that. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

/** Browsers hand out the clipboard only over HTTPS or on the machine itself; elsewhere the old way through a selection works. */
function copySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "fixed opacity-0";
  document.body.append(field);
  field.focus();
  field.select();
  const copied = document.execCommand?.("copy") ?? false;
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
