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

// A tap on a figure shows it in its full size: on a phone, letters in figures of several panels are small.
function linkFigures() {
  for (const figure of document.querySelectorAll(".bd-article img:not(a img, .sphx-glr-thumbcontainer img)")) {
    const sharpest = figure.srcset.split(",").pop().trim().split(" ")[0];
    const link = document.createElement("a");
    link.className = "full-size";
    link.href = sharpest || figure.src;
    link.setAttribute("aria-label", `${figure.alt || "Figure"}, in full size`);
    figure.replaceWith(link);
    link.append(figure);
    const measure = () => link.classList.toggle("several-panels", figure.naturalWidth > 1.8 * figure.naturalHeight);
    figure.complete ? measure() : figure.addEventListener("load", measure);
  }
}

// Tables that are too wide scroll; the keyboard must reach them, and they say what they are.
function watchTables() {
  const observer = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const tooWide = target.scrollWidth > target.clientWidth + 1;
      target.classList.toggle("is-too-wide", tooWide);
      if (tooWide) {
        target.tabIndex = 0;
        target.setAttribute("role", "region");
        target.setAttribute("aria-label", "Table that scrolls sideways");
      }
    }
  });
  document.querySelectorAll(".pst-scrollable-table-container").forEach((container) => observer.observe(container));
}

document.addEventListener("DOMContentLoaded", () => {
  linkFigures();
  watchTables();
});
