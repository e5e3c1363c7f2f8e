// Without a server a page may not read others, so search shows titles only.
if (window.location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// Names for screen readers: of the switches that unfold a section, and of links whose words are drawn elsewhere.
document.addEventListener("DOMContentLoaded", () => {
  for (const details of document.querySelectorAll(".bd-sidebar-primary details")) {
    const section = details.parentElement?.querySelector(":scope > a");
    details.querySelector("summary")?.setAttribute("aria-label", `Pages under ${section?.textContent.trim() ?? "this"}`);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
});
